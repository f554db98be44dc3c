from __future__ import annotations

import numpy as np
import pytest

from engine.errors import BadOption
from engine.speculation.draft_length import FixedLength
from engine.speculation.protocols import Draft, DraftRequest, RoundCost
from engine.speculation.settings import SamplingSettings
from tests.numpy_models import NumpySampler, ScriptedDrafter


def request(n_max: int = 16) -> DraftRequest:
    return DraftRequest([1, 2, 3], n_max, NumpySampler(SamplingSettings()), np.random.default_rng(0))


@pytest.mark.parametrize("n_tokens", [0, 3, 16])
def test_fixed_length_learns_nothing(n_tokens: int) -> None:
    policy = FixedLength(n_tokens)
    drafter = ScriptedDrafter(lambda history, n_max: [7] * n_max)
    policy.learn(RoundCost(17, 3, Draft((7,) * 16), accepted=0, draft_s=9.0, pass_s=0.1))
    assert policy.draft([drafter], request()).tokens == (7,) * n_tokens


def test_what_fits_bounds_a_fixed_length() -> None:
    drafter = ScriptedDrafter(lambda history, n_max: [7] * n_max)
    assert FixedLength(8).draft([drafter], request(n_max=2)).tokens == (7, 7)


def test_the_first_drafter_that_proposes_anything_is_taken() -> None:
    silent = ScriptedDrafter(lambda history, n_max: [])
    second, third = ScriptedDrafter(lambda history, n_max: [5]), ScriptedDrafter(lambda history, n_max: [6])
    assert FixedLength(4).draft([silent, second, third], request()).tokens == (5,)


@pytest.mark.parametrize("n_tokens", [-1, 17])
def test_length_out_of_range_is_refused(n_tokens: int) -> None:
    with pytest.raises(BadOption, match="between 0 and 16"):
        FixedLength(n_tokens)
