"""Drafters that read hidden states: whatever happens to a conversation, they have read its states and no others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings

from engine.speculation.block_draft import BlockDrafter, Lattice
from engine.speculation.draft_length import FixedLength
from engine.speculation.eagle3 import Eagle3Drafter
from engine.speculation.protocols import Draft, Drafter, Gate
from engine.speculation.round import DraftSource
from engine.speculation.settings import SamplingSettings
from tests.engine.speculation.chi_square import p_value, transition_matrix
from tests.engine.speculation.helpers import answer, tokens_of
from tests.engine.speculation.state_fakes import Entries, NumpyBlocks, NumpyHead, PublishingModel
from tests.engine.speculation.test_conversations import END, N_CTX, N_VOCAB, STEPS, TABLE, Conversation
from tests.numpy_models import NumpySampler, freely, markov_table

DRAFT_TABLE = markov_table(N_VOCAB, seed=5, sharpness=1.5)
SAMPLED = SamplingSettings(temperature=0.8, top_k=4)


def eagle3(target: PublishingModel, n_ctx: int = N_CTX) -> tuple[Drafter, Entries]:
    head = NumpyHead(target, DRAFT_TABLE, n_ctx)
    return Eagle3Drafter(head, target, N_VOCAB), head


def blocks(target: PublishingModel, n_ctx: int = N_CTX) -> tuple[Drafter, Entries]:
    model = NumpyBlocks(target, DRAFT_TABLE, n_ctx)
    return BlockDrafter(model, target, N_VOCAB, DraftSource.DFLASH), model


def markov_blocks(target: PublishingModel, n_ctx: int = N_CTX) -> tuple[Drafter, Entries]:
    model = NumpyBlocks(target, DRAFT_TABLE, n_ctx, has_markov_head=True)
    return BlockDrafter(model, target, N_VOCAB, DraftSource.DSPARK), model


Make = Callable[[PublishingModel, int], tuple[Drafter, Entries]]
KINDS = pytest.mark.parametrize("make", [eagle3, blocks, markov_blocks])


def target_of(table: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = TABLE) -> PublishingModel:
    return PublishingModel(table, N_CTX, n_batch=5, max_rows=4, end_tokens=frozenset({END}))


# ----------------------------------------------------------------------------------------- conversations


@KINDS
@settings(max_examples=150, deadline=None, derandomize=True)
@given(steps=STEPS)
def test_greedy_conversation(make: Make, steps: list[tuple[str, object]]) -> None:
    target = target_of()
    drafter, entries = make(target, N_CTX)
    conversation = Conversation(drafter, None, SamplingSettings())
    conversation.target = target
    for i, step in enumerate(steps):
        entries.cancel_at_read = entries.n_read + 2 if i % 5 == 4 else None
        conversation.do(*step)


@KINDS
def test_what_an_answer_showed_is_not_shown_again_in_the_next_turn(make: Make) -> None:
    target = target_of()
    drafter, _ = make(target, N_CTX)
    said = tokens_of(answer(target, [1, 2, 3], drafter=drafter, max_tokens=8))
    history = [1, 2, 3, *said]
    n_before = target.n_evaluated
    list(answer(target, [*history, 4], drafter=drafter, max_tokens=1))
    assert target.n_evaluated - n_before <= 2


@KINDS
def test_another_conversation_leaves_nothing_behind(make: Make) -> None:
    target = target_of()
    drafter, _ = make(target, N_CTX)
    first = list(answer(target, [1, 2, 3], drafter=drafter, max_tokens=10))
    list(answer(target, [4, 3, 3, 2], drafter=drafter, max_tokens=10))
    again = list(answer(target, [1, 2, 3], drafter=drafter, max_tokens=10))
    assert [done.drafted for done in again] == [done.drafted for done in first]


@KINDS
def test_a_drafter_with_too_short_a_context_stops_drafting(make: Make) -> None:
    target = PublishingModel(TABLE, N_CTX)
    drafter, _ = make(target, 8)
    said = list(answer(target, [1, 2, 3, 4], drafter=drafter, max_tokens=20))
    assert tokens_of(said) == tokens_of(answer(PublishingModel(TABLE, N_CTX), [1, 2, 3, 4], max_tokens=20))
    assert any(done.drafted for done in said)
    assert not said[-1].drafted


@KINDS
def test_a_prompt_beyond_its_context_is_answered_without_drafts(make: Make) -> None:
    target = PublishingModel(TABLE, N_CTX)
    drafter, _ = make(target, 8)
    said = list(answer(target, [1, 2, 3, 4, 0] * 4, drafter=drafter, max_tokens=8))
    assert not any(done.drafted for done in said)


@KINDS
def test_asked_twice_about_one_history_it_says_the_same(make: Make) -> None:
    target = target_of()
    drafter, _ = make(target, N_CTX)
    prompt = [1, 2, 3, 0, 2, 1, 3]
    assert drafter.begin(prompt) == 0
    for first in range(0, len(prompt), 5):
        target.extend(prompt[first : first + 5], 1)
        drafter.observe(prompt[first : first + 5], first)
    sampler, rng = NumpySampler(SamplingSettings()), np.random.default_rng(0)
    history = [*prompt, 2]
    once = drafter.draft(history, 3, sampler, rng, freely)
    assert len(once.tokens) == len(once.confidences) == 3
    assert drafter.draft(history, 3, sampler, rng, freely) == once


@KINDS
def test_states_that_were_never_shown_mean_no_draft(make: Make) -> None:
    target = target_of()
    drafter, _ = make(target, N_CTX)
    drafter.begin([1, 2, 3])
    target.extend([1, 2], 0)
    target.extend([3], 1)
    drafter.observe([3], 2)
    draft = drafter.draft([1, 2, 3, 4], 3, NumpySampler(SamplingSettings()), np.random.default_rng(0), freely)
    assert draft.tokens == ()


# ---------------------------------------------------------------------------------------------- distribution


@pytest.mark.slow
@KINDS
def test_sampled_drafts_keep_the_distribution(make: Make) -> None:
    table = markov_table(N_VOCAB, seed=8, sharpness=1.5)
    n_tokens = 8_000
    target = PublishingModel(table, n_tokens + 10)
    # A checksum of everything before, twice a token, is too slow for long answers: nothing is checked here.
    target.rows = lambda: np.zeros((target._shown, target.width), np.float32)  # type: ignore[method-assign]
    drafter, entries = make(target, n_tokens + 10)
    entries.check = lambda: None  # type: ignore[method-assign]
    rounds = answer(
        target, [0], drafter=drafter, settings=SAMPLED, max_tokens=n_tokens, policy=FixedLength(4)
    )
    tokens = tokens_of(rounds)
    assert len(tokens) == n_tokens
    assert p_value(tokens, transition_matrix(table, SAMPLED)) > 1e-3


def test_a_markov_head_follows_what_was_drawn() -> None:
    target = target_of()
    drafter, _ = markov_blocks(target)
    drafter.begin([1])
    target.extend([1], 1)
    drafter.observe([1], 0)
    sampler = NumpySampler(SAMPLED)
    strayed = 0
    for seed in range(40):
        draft = drafter.draft([1, 2], 4, sampler, np.random.default_rng(seed), freely)
        assert draft.distributions is not None
        before = (2, *draft.tokens)
        for token, q in zip(before, draft.distributions, strict=False):
            truth = sampler.distribution(DRAFT_TABLE[token])
            assert q.ids.tolist() == truth.ids.tolist()
            assert np.allclose(q.probs, truth.probs)
            strayed += token != int(DRAFT_TABLE[2].argmax())
    assert strayed


# ----------------------------------------------------------------------------------------------------- gates


def test_a_confidence_head_is_asked_instead_of_the_logits() -> None:
    target = target_of()
    model = NumpyBlocks(target, DRAFT_TABLE, N_CTX, confidences=(0.9, 0.6, 0.2, 0.95))
    drafter = BlockDrafter(model, target, N_VOCAB, DraftSource.DSPARK)
    rounds = answer(target, [1, 2], drafter=drafter, policy=FixedLength(4, min_confidence=0.5), max_tokens=12)
    drafted = [len(done.drafted) for done in rounds if not done.is_prompt_pass and done.drafted]
    assert drafted
    assert max(drafted) == 2


class NumpyLattice(NumpyBlocks):
    """Three places with two candidates; the best step depends on where it comes from."""

    def block(self, token: int, n_draft: int) -> Lattice:  # type: ignore[override]
        candidates = np.array([[3, 1], [2, 4], [0, 5]], np.int32)
        scores = [[[0.0, 2.0], [0.0, 2.0]], [[5.0, 0.0], [0.0, 1.0]], [[3.0, 0.0], [1.0, 1.5]]]
        return Lattice(candidates[:n_draft], np.array(scores, np.float32)[:n_draft])


def walked(gate: Gate, settings: SamplingSettings, n_vocab: int = N_VOCAB, seed: int = 0) -> Draft:
    target = target_of()
    drafter = BlockDrafter(NumpyLattice(target, DRAFT_TABLE, N_CTX), target, n_vocab, DraftSource.DFLASH)
    drafter.begin([1])
    target.extend([1], 1)
    drafter.observe([1], 0)
    return drafter.draft([1, 2], 3, NumpySampler(settings), np.random.default_rng(seed), gate)


def test_the_path_through_a_lattice_starts_each_step_where_the_last_one_ended() -> None:
    draft = walked(freely, SamplingSettings())
    assert draft.tokens == (1, 4, 5)
    assert draft.distributions is None
    assert draft.confidences == pytest.approx([1 / (1 + np.exp(-gap)) for gap in (2.0, 1.0, 0.5)])


def test_a_path_ends_where_the_gate_or_the_vocabulary_does() -> None:
    asked: list[int] = []

    def one(i: int, confidence: float) -> bool:
        asked.append(i)
        return i < 1

    assert walked(one, SamplingSettings()).tokens == (1,)
    assert asked == [0, 1]
    # Tokens that the target does not have are no candidates.
    assert walked(freely, SamplingSettings(), n_vocab=5).tokens == (1, 4, 0)


def test_a_sampled_path_knows_what_it_was_drawn_from() -> None:
    sampled = SamplingSettings(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)
    seen = {walked(freely, sampled, seed=seed).tokens for seed in range(200)}
    assert [set(column) for column in zip(*seen, strict=True)] == [{1, 3}, {2, 4}, {0, 5}]
    for seed in range(20):
        draft = walked(freely, sampled, seed=seed)
        assert draft.distributions is not None
        first, second = (dict(zip(q.ids.tolist(), q.probs, strict=True)) for q in draft.distributions[:2])
        assert first[1] == pytest.approx(1 / (1 + np.exp(-2.0)))
        assert first[3] == pytest.approx(1 - first[1])
        gap = 5.0 if draft.tokens[0] == 3 else -1.0
        assert second[2] == pytest.approx(1 / (1 + np.exp(-gap)))
