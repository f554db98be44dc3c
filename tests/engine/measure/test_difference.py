from __future__ import annotations

import numpy as np
import pytest

from engine.measure.difference import first_difference, logit_gap
from tests.engine.speculation.helpers import answer, tokens_of
from tests.numpy_models import NumpyModel, markov_table

PROMPT = [1, 2, 3]


@pytest.mark.parametrize(
    ("plain", "speculative", "index"),
    [
        ([1, 2, 3], [1, 2, 3], None),
        ([1, 2, 3], [1, 9, 3], 1),
        ([7], [8], 0),
        ([], [1, 2], None),
        ([1, 2], [1, 2, 3], None),
        ([1, 2, 4], [1, 2], None),
    ],
)
def test_first_difference(plain: list[int], speculative: list[int], index: int | None) -> None:
    assert first_difference(plain, speculative) == index


def test_first_difference_can_go_on_from_what_is_known() -> None:
    assert first_difference([1, 2, 3, 4], [1, 2, 3, 5], start=3) == 3
    assert first_difference([1, 2, 3], [1, 2], start=2) is None
    assert first_difference([8, 2], [9, 2], start=1) is None


def test_gap_is_that_of_the_plain_lanes_own_logits() -> None:
    table = markov_table(8, seed=1, sharpness=2.0)
    target = NumpyModel(table)
    said = tokens_of(answer(target, PROMPT, max_tokens=20))
    row = table[said[4]]
    own, other = (int(token) for token in np.argsort(-row)[:2])
    assert said[5] == own
    target.n_evaluated = 0
    gap = logit_gap(target, PROMPT, said[:5], own, other)
    assert gap.gap == pytest.approx(float(row[own] - row[other]))
    assert gap.relative == pytest.approx(gap.gap / max(abs(row[own]), abs(row[other])))
    assert target.n_evaluated == 1
    assert list(target.cached) == [*PROMPT, *said[:5]]


def test_gap_at_the_first_token() -> None:
    table = markov_table(8, seed=1, sharpness=2.0)
    gap = logit_gap(NumpyModel(table, n_batch=2), PROMPT, [], 4, 5)
    assert gap.gap == pytest.approx(float(table[3, 4] - table[3, 5]))


def test_gap_of_two_zeros_is_zero() -> None:
    gap = logit_gap(NumpyModel(np.zeros((8, 8), dtype=np.float32)), PROMPT, [], 0, 1)
    assert (gap.gap, gap.relative) == (0.0, 0.0)
