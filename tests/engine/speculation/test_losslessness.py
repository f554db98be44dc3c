"""Speculation does not change the distribution of what the target says: chi-square over 100,000 tokens a
case."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from engine.speculation.draft_length import FixedLength
from engine.speculation.draft_model import DraftModelDrafter
from engine.speculation.loop import decode_rounds
from engine.speculation.ngram import NgramDrafter, NgramSettings
from engine.speculation.protocols import Drafter, Logits
from engine.speculation.settings import SamplingSettings
from engine.speculation.verification import verify
from tests.engine.speculation.chi_square import p_value, transition_matrix
from tests.numpy_models import (
    LetterText,
    NumpyModel,
    NumpySampler,
    SamplingDrafter,
    ScriptedDrafter,
    freely,
    markov_table,
)

N_VOCAB = 8
N_SAMPLES = 100_000
SIGNIFICANCE = 1e-3
"""Seeds are fixed, so a passing case passes for good; a wrong rule gives less than 1e-50 at this size."""

TRUNCATED = SamplingSettings(temperature=0.9, top_k=6, top_p=0.95, min_p=0.03)

_HALF = np.where(np.arange(N_VOCAB) < N_VOCAB // 2, 20.0, 0.0).astype(np.float32)

SHAPES: dict[str, tuple[Logits, Logits]] = {
    "sharp": (
        markov_table(N_VOCAB, seed=1, sharpness=3.0),
        markov_table(N_VOCAB, seed=1, sharpness=3.0) + markov_table(N_VOCAB, seed=2, sharpness=1.5),
    ),
    "flat": (markov_table(N_VOCAB, seed=3, sharpness=0.3), markov_table(N_VOCAB, seed=4, sharpness=0.3)),
    "disjoint": (
        markov_table(N_VOCAB, seed=9, sharpness=1.0) + _HALF,
        markov_table(N_VOCAB, seed=10, sharpness=1.0) - _HALF,
    ),
}


def verified_chain(p: Logits, drafter: Drafter, n_draft: int, seed: int) -> list[int]:
    """Return tokens that came out of verification alone, round after round; the model's state is its last
    token."""
    rng, sampler = np.random.default_rng(seed), NumpySampler(TRUNCATED)
    rows = list(p)
    tokens = [0]
    while len(tokens) < N_SAMPLES:
        draft = drafter.draft(tokens[-1:], n_draft, sampler, rng, freely)
        context = (tokens[-1], *draft.tokens)
        tokens.extend([token for token, _ in verify(draft, lambda i, c=context: rows[c[i]], sampler, rng)])  # type: ignore[misc]
    return tokens


def answer_tokens(
    p: Logits,
    drafter: Drafter | None,
    n_draft: int,
    n_tokens: int,
    settings: SamplingSettings,
    seed: int = 11,
) -> list[int]:
    rounds = decode_rounds(
        NumpyModel(p, n_ctx=n_tokens + 10),
        [0],
        sampler=NumpySampler(settings),
        drafters=() if drafter is None else (drafter,),
        policy=FixedLength(n_draft),
        text=LetterText(),
        max_tokens=n_tokens,
        rng=np.random.default_rng(seed),
    )
    return [token for done in rounds for token in done.tokens]


@pytest.mark.slow
@pytest.mark.parametrize("n_draft", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("shape", SHAPES)
def test_sampled_drafts_keep_the_distribution(shape: str, n_draft: int) -> None:
    p, q = SHAPES[shape]
    tokens = verified_chain(p, SamplingDrafter(q, TRUNCATED), n_draft, seed=n_draft)
    assert p_value(tokens, transition_matrix(p, TRUNCATED)) > SIGNIFICANCE


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["sharp", "flat"])
def test_point_mass_drafts_keep_the_distribution(shape: str) -> None:
    p, q = SHAPES[shape]
    best = q.argmax(axis=1).tolist()

    def most_likely(history: Sequence[int], n_max: int) -> list[int]:
        tokens = [history[-1]]
        for _ in range(n_max):
            tokens.append(best[tokens[-1]])
        return tokens[1:]

    tokens = verified_chain(p, ScriptedDrafter(most_likely), 3, seed=12)
    assert p_value(tokens, transition_matrix(p, TRUNCATED)) > SIGNIFICANCE


@pytest.mark.slow
def test_whole_loop_with_a_draft_model_keeps_the_distribution() -> None:
    p, q = SHAPES["sharp"]
    drafter = DraftModelDrafter(NumpyModel(q, n_ctx=2 * N_SAMPLES), N_VOCAB)
    tokens = answer_tokens(p, drafter, 3, N_SAMPLES // 2, TRUNCATED)
    assert p_value(tokens, transition_matrix(p, TRUNCATED)) > SIGNIFICANCE


def test_drafter_that_lies_about_q_is_noticed() -> None:
    """What this file measures with has teeth: q was not what the drafts came from."""
    p, q = SHAPES["sharp"]
    liar = SamplingDrafter(q, TRUNCATED, claimed=q[::-1])
    tokens = verified_chain(p, liar, 3, seed=13)
    assert p_value(tokens, transition_matrix(p, TRUNCATED)) < 1e-50


@pytest.mark.parametrize("n_draft", range(17))
@pytest.mark.parametrize(
    "settings",
    [
        TRUNCATED,
        SamplingSettings(temperature=1.2, repeat_penalty=1.3, frequency_penalty=0.2, presence_penalty=0.1),
    ],
)
def test_seed_gives_the_same_text_with_and_without_ngram_drafts(
    n_draft: int, settings: SamplingSettings
) -> None:
    p = markov_table(N_VOCAB, seed=14, sharpness=2.0)
    drafter = NgramDrafter(NgramSettings(min_chance=0.0))
    assert answer_tokens(p, drafter, n_draft, 300, settings) == answer_tokens(p, None, 0, 300, settings)
