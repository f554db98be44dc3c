"""The decoding loop on a numpy model: greedy equality, ends of answers, what drafters are told, and its own clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from engine.errors import EmptyPrompt, PromptTooLong
from engine.speculation.draft_length import FixedLength
from engine.speculation.protocols import Draft, Drafter, DraftRequest, RoundCost
from engine.speculation.round import DraftSource, FinishReason, Round
from engine.speculation.settings import SamplingSettings
from tests.engine.speculation.helpers import answer, text_of, tokens_of
from tests.engine.speculation.numpy_target import (
    END,
    N_VOCAB,
    PROMPT,
    TABLE,
    draft_model,
    half_right,
    model,
    ngram,
    plain_answer,
    right,
    wrong,
)
from tests.numpy_models import NumpyModel, ScriptedDrafter


def proposes_the_end(history: Sequence[int], n_max: int) -> list[int]:
    return [*right(history, n_max)[:-1], END]


def unknown_token(history: Sequence[int], n_max: int) -> list[int]:
    return [*right(history, n_max)[: n_max // 2], N_VOCAB, *range(n_max)][:n_max]


def too_long(history: Sequence[int], n_max: int) -> list[int]:
    return right(history, n_max + 5)


def nothing(history: Sequence[int], n_max: int) -> list[int]:
    return []


DRAFTS = [right, wrong, half_right, proposes_the_end, unknown_token, too_long, nothing]


# ------------------------------------------------------------------------------------------ greedy equality


@pytest.mark.parametrize("n_draft", range(17))
@pytest.mark.parametrize("propose", DRAFTS)
def test_greedy_answer_is_the_targets_own(
    propose: Callable[[Sequence[int], int], list[int]], n_draft: int
) -> None:
    rounds = list(answer(model(), drafter=ScriptedDrafter(propose), n_draft=n_draft))
    assert tokens_of(rounds) == plain_answer()
    assert all(done.tokens[: done.accepted] == done.drafted[: done.accepted] for done in rounds)


@pytest.mark.parametrize("n_draft", range(17))
@pytest.mark.parametrize("make_drafter", [ngram, draft_model])
def test_greedy_answer_with_real_drafters_is_the_targets_own(
    make_drafter: Callable[[], Drafter], n_draft: int
) -> None:
    rounds = list(answer(model(), drafter=make_drafter(), n_draft=n_draft, max_tokens=200))
    assert tokens_of(rounds) == plain_answer(max_tokens=200)
    assert any(done.accepted for done in rounds) == (n_draft > 0)


def test_right_drafts_are_all_accepted_and_give_one_token_more_each() -> None:
    rounds = list(answer(model(), drafter=ScriptedDrafter(right), n_draft=4, max_tokens=41))
    assert [len(done.tokens) for done in rounds] == [1] + [5] * 8
    assert all(done.accepted == 4 and done.source is DraftSource.NGRAM for done in rounds[1:])


def test_draft_never_asks_for_more_than_the_answer_can_take() -> None:
    asked: list[int] = []

    def propose(history: Sequence[int], n_max: int) -> list[int]:
        asked.append(n_max)
        return right(history, n_max)

    rounds = list(answer(model(), drafter=ScriptedDrafter(propose), n_draft=16, max_tokens=20))
    assert asked == [16, 1]
    assert sum(len(done.tokens) for done in rounds) == 20


def test_draft_never_asks_for_more_rows_than_the_target_has() -> None:
    rounds = list(answer(model(max_rows=3), drafter=ScriptedDrafter(right), n_draft=16))
    assert max(len(done.drafted) for done in rounds) == 2
    assert tokens_of(rounds) == plain_answer()


def test_round_without_draft_has_no_source() -> None:
    rounds = list(answer(model(), drafter=ScriptedDrafter(nothing)))
    assert {done.source for done in rounds} == {DraftSource.NONE}


# -------------------------------------------------------------------------------------------- ends of answers


def ending_model(at: int) -> NumpyModel:
    """Return a model that ends its answer with the token at index `at` of the plain one."""
    history = [*PROMPT, *plain_answer()[:at]]
    table = TABLE.copy()
    table[history[-2], history[-1], END] = 100.0
    return NumpyModel(table, end_tokens=frozenset({END}))


@pytest.mark.parametrize("n_draft", [0, 1, 3, 5, 16])
def test_accepted_end_of_answer_ends_it_without_a_token_more(n_draft: int) -> None:
    target = ending_model(at=7)
    expected = tokens_of(answer(ending_model(at=7)))
    assert expected[-1] == END

    def propose(history: Sequence[int], n_max: int) -> list[int]:
        return [*expected[len(history) - len(PROMPT) :], 5, 5, 5, 5][:n_max]

    rounds = list(answer(target, drafter=ScriptedDrafter(propose), n_draft=n_draft))
    assert tokens_of(rounds) == expected
    assert rounds[-1].finish_reason is FinishReason.STOP
    assert rounds[-1].pieces[-1] == ""
    assert list(target.cached) == [*PROMPT, *expected[:-1]]


def test_first_token_may_end_the_answer() -> None:
    rounds = list(answer(ending_model(at=0)))
    assert [done.tokens for done in rounds] == [(END,)]
    assert rounds[0].finish_reason is FinishReason.STOP


@pytest.mark.parametrize("max_tokens", [1, 2, 5, 6])
def test_answer_ends_at_max_tokens(max_tokens: int) -> None:
    rounds = list(answer(model(), drafter=ScriptedDrafter(right), max_tokens=max_tokens))
    assert tokens_of(rounds) == plain_answer()[:max_tokens]
    assert rounds[-1].finish_reason is FinishReason.LENGTH
    assert all(done.finish_reason is None for done in rounds[:-1])


@pytest.mark.parametrize("n_draft", [0, 3, 16])
@pytest.mark.parametrize("propose", [right, wrong])
def test_answer_ends_where_the_context_is_full(
    propose: Callable[[Sequence[int], int], list[int]], n_draft: int
) -> None:
    rounds = list(answer(model(n_ctx=20), drafter=ScriptedDrafter(propose), n_draft=n_draft))
    assert tokens_of(rounds) == plain_answer()[: 20 - len(PROMPT)]
    assert rounds[-1].finish_reason is FinishReason.LENGTH


@pytest.mark.parametrize("n_draft", [0, 1, 2, 4, 16])
@pytest.mark.parametrize("start", range(4, 12))
def test_stop_string_ends_the_answer_and_what_was_decoded_after_it_is_dropped(
    start: int, n_draft: int
) -> None:
    tokens = plain_answer()
    stop = text_of(tokens[start : start + 3])
    end = text_of(tokens).index(stop)
    rounds = list(answer(model(), drafter=ScriptedDrafter(right), n_draft=n_draft, stop=(stop,)))
    assert "".join(done.text for done in rounds) == text_of(tokens)[:end]
    assert tokens_of(rounds) == tokens[: end + 3]
    assert rounds[-1].finish_reason is FinishReason.STOP
    assert rounds[-1].accepted <= len(rounds[-1].tokens)


def test_text_held_back_for_a_stop_string_comes_out_with_the_last_piece() -> None:
    tokens = plain_answer(max_tokens=9)
    stop = text_of(tokens[-2:]) + "zzz"
    rounds = list(answer(model(), drafter=ScriptedDrafter(right), max_tokens=9, stop=(stop,)))
    assert "".join(done.text for done in rounds) == text_of(tokens)
    assert all(len(done.pieces) == len(done.tokens) for done in rounds)


# ---------------------------------------------------------------------------------------------- bad prompts


def test_empty_prompt_is_refused() -> None:
    with pytest.raises(EmptyPrompt, match="empty"):
        next(answer(model(), ()))


def test_prompt_that_leaves_no_room_is_refused_with_both_numbers() -> None:
    with pytest.raises(PromptTooLong, match=r"20 tokens.*20"):
        next(answer(model(n_ctx=20), [1] * 20))


def test_longest_prompt_gets_one_token() -> None:
    rounds = list(answer(model(n_ctx=20), [1] * 19))
    assert len(tokens_of(rounds)) == 1
    assert rounds[-1].finish_reason is FinishReason.LENGTH


# -------------------------------------------------------------------------------- what the drafter is told


def test_drafter_observes_every_evaluated_token_at_its_position() -> None:
    drafter = ScriptedDrafter(half_right)
    said = tokens_of(answer(model(n_batch=2, max_rows=2), drafter=drafter))
    sequence = [*PROMPT, *said]
    seen: dict[int, int] = {}
    for tokens, first_position in drafter.observed:
        assert first_position <= len(seen)
        seen = {at: token for at, token in seen.items() if at < first_position}
        seen.update(enumerate(tokens, first_position))
    assert [seen[at] for at in range(len(sequence) - 1)] == sequence[:-1]


def test_policy_learns_from_every_verification() -> None:
    @dataclass
    class Learning:
        learnt: list[RoundCost]

        def draft(self, drafters: Sequence[Drafter], request: DraftRequest) -> Draft:
            length = FixedLength(2 if self.learnt else 0)
            return length.draft(drafters, request)

        def learn(self, cost: RoundCost) -> None:
            self.learnt.append(cost)

    policy = Learning([])
    rounds = list(answer(model(), drafter=ScriptedDrafter(half_right), policy=policy))
    decoded = [done for done in rounds if not done.is_prompt_pass]
    told = [(cost.draft.tokens, cost.accepted, cost.draft_s, cost.pass_s) for cost in policy.learnt]
    assert told == [(d.drafted, d.accepted, d.draft_s, d.pass_s) for d in decoded]
    assert {len(cost.draft.tokens) for cost in policy.learnt} >= {0, 2}
    n_cached = len(PROMPT)
    for cost, done in zip(policy.learnt, decoded, strict=True):
        assert (cost.n_pass, cost.n_cached) == (1 + len(done.drafted), n_cached)
        n_cached += len(done.tokens)


def test_what_a_drafter_does_not_know_of_the_prompt_is_shown_to_it_again() -> None:
    class Forgetful(ScriptedDrafter):
        def begin(self, prompt: Sequence[int]) -> int:
            super().begin(prompt)
            return 1

    target = model()
    list(answer(target, PROMPT, max_tokens=1))
    drafter = Forgetful(half_right)
    said = tokens_of(answer(target, PROMPT, drafter=drafter))
    assert drafter.observed[0] == (tuple(PROMPT[1:]), 1)
    assert said == plain_answer()


def test_penalties_count_the_prompt() -> None:
    settings = SamplingSettings(presence_penalty=1000.0)
    said = tokens_of(answer(model(), PROMPT, settings=settings, max_tokens=N_VOCAB - len(PROMPT)))
    assert sorted([*PROMPT, *said]) == list(range(N_VOCAB))


# ----------------------------------------------------------------------------------------------- the clock


def test_time_in_which_the_caller_holds_the_generator_is_not_counted() -> None:
    now_s = 0.0

    def pass_time(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    def propose(history: Sequence[int], n_max: int) -> list[int]:
        pass_time(1.0)
        return right(history, n_max)

    target = model()
    target.on_pass = lambda: pass_time(10.0)
    rounds: list[Round] = []
    for done in answer(target, drafter=ScriptedDrafter(propose), clock=lambda: now_s):
        rounds.append(done)
        pass_time(1000.0)
    assert [(done.draft_s, done.verify_s, done.total_s) for done in rounds[:2]] == [(0, 10, 10), (1, 10, 11)]
    assert {done.total_s for done in rounds[1:]} == {11.0}
