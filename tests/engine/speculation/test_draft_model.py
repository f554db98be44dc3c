from __future__ import annotations

import numpy as np
import pytest

from engine.errors import Cancelled
from engine.speculation.draft_model import DraftModelDrafter
from engine.speculation.round import DraftSource
from engine.speculation.settings import SamplingSettings
from tests.engine.speculation.helpers import answer, tokens_of
from tests.numpy_models import NumpyModel, NumpySampler, freely, markov_table

N_VOCAB = 10
TABLE = markov_table(N_VOCAB, seed=3, sharpness=2.0, order=2)
GREEDY = NumpySampler(SamplingSettings())
SAMPLED = NumpySampler(SamplingSettings(temperature=1.0))
PROMPT = (1, 2, 3, 4)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def small_model(*, n_ctx: int = 4096, n_batch: int = 32) -> NumpyModel:
    return NumpyModel(TABLE, n_ctx, n_batch, max_rows=1)


def test_greedy_draft_is_what_the_small_model_says() -> None:
    expected = tokens_of(answer(NumpyModel(TABLE), PROMPT, max_tokens=5))
    drafter = DraftModelDrafter(small_model(), N_VOCAB)
    drafter.begin(PROMPT)
    draft = drafter.draft(PROMPT, 5, GREEDY, rng(), freely)
    assert list(draft.tokens) == expected
    assert (draft.source, draft.distributions) == (DraftSource.DRAFT_MODEL, None)


def test_sampled_draft_keeps_what_each_token_was_sampled_from() -> None:
    model = small_model()
    drafter = DraftModelDrafter(model, N_VOCAB)
    drafter.begin(PROMPT)
    draft = drafter.draft(PROMPT, 3, SAMPLED, rng(), freely)
    assert draft.distributions is not None
    for i, q in enumerate(draft.distributions):
        expected = SAMPLED.distribution(model.row_after([*PROMPT, *draft.tokens[:i]]))
        assert q == expected
        assert draft.tokens[i] in q.ids


def test_look_ahead_applies_penalties_to_its_own_tokens_and_leaves_the_requests_state_alone() -> None:
    sampler = NumpySampler(SamplingSettings(presence_penalty=1000.0))
    model = small_model()
    drafter = DraftModelDrafter(model, N_VOCAB)
    drafter.begin(PROMPT)
    tokens = drafter.draft(PROMPT, 8, sampler, rng(), freely).tokens
    assert len(set(tokens)) == 8
    assert sampler.argmax(model.row_after(PROMPT)) == tokens[0]


def test_prompt_is_evaluated_while_the_target_reads_it() -> None:
    model = small_model()
    drafter = DraftModelDrafter(model, N_VOCAB)
    drafter.begin(PROMPT)
    drafter.observe(PROMPT[:3], 0)
    assert list(model.cached) == [1, 2, 3]
    drafter.observe(PROMPT[3:], 3)
    assert list(model.cached) == list(PROMPT)


def test_draft_of_n_tokens_takes_n_passes() -> None:
    model = small_model()
    drafter = DraftModelDrafter(model, N_VOCAB)
    drafter.begin(PROMPT)
    drafter.observe(PROMPT, 0)
    history, model.n_passes, model.n_evaluated = [*PROMPT, 5], 0, 0
    draft = drafter.draft(history, 4, GREEDY, rng(), freely)
    assert (model.n_passes, model.n_evaluated) == (4, 4)
    # All accepted: the last drafted token and the target's own are caught up in one pass.
    history += [*draft.tokens, 6]
    drafter.draft(history, 4, GREEDY, rng(), freely)
    assert (model.n_passes, model.n_evaluated) == (8, 4 + 5)


def test_rejected_tokens_are_rolled_back() -> None:
    model = small_model()
    drafter = DraftModelDrafter(model, N_VOCAB)
    drafter.begin(PROMPT)
    draft = drafter.draft(PROMPT, 4, GREEDY, rng(), freely)
    history = [*PROMPT, draft.tokens[0], (draft.tokens[1] + 1) % N_VOCAB]
    drafter.draft(history, 1, GREEDY, rng(), freely)
    assert list(model.cached) == history


def test_long_gap_is_caught_up_in_passes_that_a_batch_holds() -> None:
    model = small_model(n_batch=4)
    drafter = DraftModelDrafter(model, N_VOCAB)
    history = list(range(10)) * 3
    drafter.begin(history[:2])
    expected = int(model.row_after(history).argmax())
    assert drafter.draft(history, 1, GREEDY, rng(), freely).tokens == (expected,)


def test_next_prompt_reuses_what_it_shares() -> None:
    model = small_model()
    drafter = DraftModelDrafter(model, N_VOCAB)
    drafter.begin(PROMPT)
    drafter.observe(PROMPT, 0)
    model.n_evaluated = 0
    drafter.begin([1, 2, 9, 4, 5])
    drafter.observe([9, 4, 5], 2)
    assert list(model.cached) == [1, 2, 9, 4, 5]
    assert model.n_evaluated == 3


def test_draft_stops_where_the_small_models_context_ends() -> None:
    drafter = DraftModelDrafter(small_model(n_ctx=6), N_VOCAB)
    drafter.begin(PROMPT)
    # Positions 5 and 6 can still be evaluated; the last drafted token need not be.
    assert len(drafter.draft(PROMPT, 8, GREEDY, rng(), freely).tokens) == 3
    assert len(drafter.draft([*PROMPT, 5, 6], 8, GREEDY, rng(), freely).tokens) == 1
    assert drafter.draft([*PROMPT, 5, 6, 7], 8, GREEDY, rng(), freely).tokens == ()


def test_prompt_beyond_the_small_models_context_is_not_read() -> None:
    model = small_model(n_ctx=6)
    drafter = DraftModelDrafter(model, N_VOCAB)
    prompt = list(range(10))
    drafter.begin(prompt)
    drafter.observe(prompt, 0)
    assert drafter.draft([*prompt, 1], 4, GREEDY, rng(), freely).tokens == ()
    assert model.n_evaluated == 0


@pytest.mark.parametrize("sampler", [GREEDY, SAMPLED])
def test_ids_that_only_the_small_model_has_are_never_proposed(sampler: NumpySampler) -> None:
    table = TABLE.copy()
    table[..., N_VOCAB - 2 :] += 50.0
    drafter = DraftModelDrafter(NumpyModel(table, max_rows=1), N_VOCAB - 2)
    drafter.begin(PROMPT)
    draft = drafter.draft(PROMPT, 8, sampler, rng(), freely)
    assert len(draft.tokens) == 8
    assert max(draft.tokens) < N_VOCAB - 2
    assert all(max(q.ids) < N_VOCAB - 2 for q in draft.distributions or ())


@pytest.mark.parametrize(
    "sampler", [GREEDY, NumpySampler(SamplingSettings(temperature=1.0, top_k=0, top_p=1.0))]
)
def test_ids_that_only_the_target_has_are_impossible(sampler: NumpySampler) -> None:
    drafter = DraftModelDrafter(small_model(), N_VOCAB + 3)
    drafter.begin(PROMPT)
    assert max(drafter.draft(PROMPT, 8, sampler, rng(), freely).tokens) < N_VOCAB


def test_cancelled_draft_leaves_a_cache_to_go_on_with() -> None:
    for n in range(1, 9):
        model = small_model(n_batch=2)
        drafter = DraftModelDrafter(model, N_VOCAB)
        drafter.begin(PROMPT)
        model.cancel_at_pass = n
        histories = ([*PROMPT, 5], [*PROMPT, 5, 6, 7])
        with pytest.raises(Cancelled):
            [drafter.draft(history, 4, GREEDY, rng(), freely) for history in histories]
        again = drafter.draft([*PROMPT, 5, 6, 7], 4, GREEDY, rng(), freely)
        fresh = DraftModelDrafter(small_model(), N_VOCAB).draft([*PROMPT, 5, 6, 7], 4, GREEDY, rng(), freely)
        assert again == fresh
