"""A drafter with fewer tokens than its target: no draft where it lacks one, and never an error."""

from __future__ import annotations

import numpy as np
import pytest

from engine.speculation.draft_model import DraftModelDrafter
from engine.speculation.eagle3 import Eagle3Drafter
from engine.speculation.fewer_tokens import FewerTokens
from engine.speculation.protocols import Drafter, Logits
from engine.speculation.settings import SamplingSettings
from tests.engine.speculation.helpers import answer, tokens_of
from tests.engine.speculation.state_fakes import NumpyHead, PublishingModel
from tests.numpy_models import NumpyModel, NumpySampler, freely, markov_table

N_KNOWN, N_VOCAB = 6, 8
TABLE = markov_table(N_VOCAB, seed=2, sharpness=1.5)
MOSTLY_KNOWN = TABLE.copy()
MOSTLY_KNOWN[:, N_KNOWN:] -= 8.0
PROMPT, ADDED = (1, 2, 3), N_KNOWN + 1


def target(table: Logits = TABLE) -> PublishingModel:
    return PublishingModel(table, 200)


def drafter_of(kind: str, publisher: PublishingModel) -> Drafter:
    table = TABLE[:N_KNOWN, :N_KNOWN]
    if kind == "model":
        return FewerTokens(DraftModelDrafter(NumpyModel(table, max_rows=1), N_VOCAB), N_KNOWN)
    return FewerTokens(Eagle3Drafter(NumpyHead(publisher, table, 200), publisher, N_VOCAB), N_KNOWN)


KINDS = pytest.mark.parametrize("kind", ["model", "eagle3"])


@KINDS
def test_texts_of_common_tokens_are_drafted_for(kind: str) -> None:
    model = target(MOSTLY_KNOWN)
    rounds = list(answer(model, PROMPT, drafter=drafter_of(kind, model)))
    assert tokens_of(rounds) == tokens_of(answer(target(MOSTLY_KNOWN), PROMPT))
    assert any(done.drafted for done in rounds)


@KINDS
def test_a_prompt_with_another_token_is_answered_without_drafts_and_the_next_one_with(kind: str) -> None:
    model = target(MOSTLY_KNOWN)
    drafter = drafter_of(kind, model)
    prompt = [1, ADDED, 2]
    rounds = list(answer(model, prompt, drafter=drafter))
    assert tokens_of(rounds) == tokens_of(answer(target(MOSTLY_KNOWN), prompt))
    assert not any(done.drafted for done in rounds)
    assert any(done.drafted for done in answer(model, PROMPT, drafter=drafter))


@KINDS
@pytest.mark.parametrize("settings", [SamplingSettings(), SamplingSettings(temperature=1.0)])
def test_an_answer_that_comes_to_another_token_goes_on_without_drafts(
    kind: str, settings: SamplingSettings
) -> None:
    model = target()
    for seed in range(5):
        drafter = drafter_of(kind, model)
        rounds = list(answer(model, PROMPT, settings=settings, drafter=drafter, max_tokens=150, seed=seed))
        said = [*PROMPT]
        for done in rounds:
            assert not (done.drafted and max(said) >= N_KNOWN)
            said += done.tokens
        assert len(said) == len(PROMPT) + 150
        if not settings.is_greedy:
            assert max(said) >= N_KNOWN


def test_no_token_that_it_lacks_is_proposed() -> None:
    drafter = FewerTokens(DraftModelDrafter(NumpyModel(TABLE[:N_KNOWN, :N_KNOWN]), N_VOCAB), N_KNOWN)
    drafter.begin(PROMPT)
    sampler = NumpySampler(SamplingSettings(temperature=2.0))
    draft = drafter.draft([*PROMPT], 16, sampler, np.random.default_rng(1), freely)
    assert max(draft.tokens) < N_KNOWN
    assert drafter.draft([*PROMPT, ADDED], 16, sampler, np.random.default_rng(1), freely).tokens == ()
