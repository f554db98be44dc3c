"""The rules of verification, one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from engine.speculation.protocols import Distribution, Draft, Logits
from engine.speculation.round import DraftSource
from engine.speculation.settings import SamplingSettings
from engine.speculation.verification import residual, sample, verify
from tests.numpy_models import NumpySampler

GREEDY = SamplingSettings()
SAMPLED = SamplingSettings(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)


def distribution(**probs: float) -> Distribution:
    """Return a distribution from `t3=0.5`: token 3 has one half."""
    ids = np.array([int(name[1:]) for name in probs], dtype=np.int32)
    return Distribution(ids, np.array(list(probs.values()), dtype=np.float64))


def certain(*tokens: int, n_vocab: int = 8) -> list[Logits]:
    """Return logits that leave no doubt: row i says `tokens[i]`."""
    return [np.where(np.arange(n_vocab) == token, 0.0, -np.inf).astype(np.float32) for token in tokens]


def outcome(
    draft: Draft, rows: Sequence[Logits], settings: SamplingSettings, seed: int = 0
) -> list[tuple[int, bool]]:
    rng = np.random.default_rng(seed)
    return list(verify(draft, rows.__getitem__, NumpySampler(settings), rng))


@pytest.mark.parametrize("settings", [GREEDY, SAMPLED])
def test_right_draft_is_accepted_and_followed_by_the_targets_own_token(settings: SamplingSettings) -> None:
    draft = Draft((1, 2, 3), DraftSource.NGRAM)
    assert outcome(draft, certain(1, 2, 3, 4), settings) == [(1, True), (2, True), (3, True), (4, False)]


@pytest.mark.parametrize("settings", [GREEDY, SAMPLED])
def test_wrong_token_is_replaced_and_ends_the_round(settings: SamplingSettings) -> None:
    draft = Draft((1, 7, 3), DraftSource.NGRAM)
    assert outcome(draft, certain(1, 2, 3, 4), settings) == [(1, True), (2, False)]


def test_empty_draft_gives_one_own_token() -> None:
    assert outcome(Draft(), certain(5), GREEDY) == [(5, False)]


def test_greedy_ignores_what_the_draft_was_sampled_from() -> None:
    draft = Draft((1,), DraftSource.DRAFT_MODEL, (distribution(t1=0.5, t2=0.5),))
    assert outcome(draft, certain(1, 4), GREEDY) == [(1, True), (4, False)]


def test_penalties_see_each_committed_token_before_the_next_row() -> None:
    settings = SamplingSettings(presence_penalty=3.0)
    row = np.array([2.0, 1.0, 0.0, -9.0], dtype=np.float32)
    # Token 0 is penalised below 1 after it was said once, then 1 below 2.
    assert outcome(Draft((0, 1), DraftSource.NGRAM), [row, row, row], settings) == [
        (0, True),
        (1, True),
        (2, False),
    ]


def test_token_the_target_cannot_say_is_rejected_for_a_token_it_can() -> None:
    draft = Draft((6,), DraftSource.DRAFT_MODEL, (distribution(t6=1.0),))
    for seed in range(50):
        assert outcome(draft, certain(3, 4), SAMPLED, seed) == [(3, False)]


def test_equal_distributions_accept_everything() -> None:
    row = np.log(np.array([0.5, 0.3, 0.2])).astype(np.float32)
    q = NumpySampler(SAMPLED).distribution(row)
    for seed in range(50):
        token = sample(q, np.random.default_rng(seed).random())
        assert outcome(Draft((token,), DraftSource.DRAFT_MODEL, (q,)), [row, row], SAMPLED, seed)[0] == (
            token,
            True,
        )


def test_sampled_draft_is_accepted_as_often_as_can_be() -> None:
    """The most that any lossless rule can accept is the sum of min(p, q) (Leviathan et al. 2023, theorem
    3.5)."""
    row = np.log(np.array([0.6, 0.3, 0.1])).astype(np.float32)
    p, q = NumpySampler(SAMPLED).distribution(row), distribution(t0=0.2, t1=0.5, t2=0.3)
    rng, n = np.random.default_rng(0), 10_000
    n_accepted = 0
    for _ in range(n):
        draft = Draft((sample(q, rng.random()),), DraftSource.DRAFT_MODEL, (q,))
        n_accepted += next(verify(draft, lambda _: row, NumpySampler(SAMPLED), rng))[1]
    best = float(np.minimum(p.probs[p.ids.argsort()], q.probs).sum())
    assert abs(n_accepted / n - best) < 4 * (best * (1 - best) / n) ** 0.5


def test_sample_takes_tokens_in_the_order_of_their_ids() -> None:
    shuffled = distribution(t7=0.25, t2=0.5, t4=0.25)
    assert [sample(shuffled, u) for u in (0.0, 0.49, 0.5, 0.74, 0.75, 0.999999)] == [2, 2, 4, 4, 7, 7]


def test_sample_never_returns_an_impossible_token() -> None:
    holes = distribution(t0=0.0, t1=0.3, t2=0.0, t3=0.7, t4=0.0)
    edges = [0.0, 0.3, np.nextafter(0.3, 0.0), np.nextafter(0.3, 1.0), np.nextafter(1.0, 0.0)]
    assert {sample(holes, u) for u in edges} == {1, 3}


def test_residual_of_different_supports() -> None:
    p = distribution(t5=0.5, t1=0.25, t3=0.25)
    q = distribution(t1=0.75, t9=0.125, t5=0.125)
    rest = residual(p, q)
    assert dict(zip(rest.ids.tolist(), rest.probs.tolist(), strict=True)) == {5: 0.6, 1: 0.0, 3: 0.4}


def test_residual_of_disjoint_supports_is_the_target() -> None:
    p = distribution(t5=0.5, t1=0.5)
    assert residual(p, distribution(t0=0.4, t9=0.6)).probs.tolist() == [0.5, 0.5]


def test_residual_of_nothing_is_the_target() -> None:
    p = distribution(t5=0.5, t1=0.5)
    assert residual(p, distribution(t1=0.5, t5=0.5)) is p
