"""The decoding loop's caches: what it evaluates again, and what is left after a cancel at any place."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest

from engine.errors import Cancelled
from engine.speculation.protocols import Drafter
from tests.engine.speculation.helpers import answer, tokens_of
from tests.engine.speculation.numpy_target import (
    END,
    PROMPT,
    TABLE,
    draft_model,
    half_right,
    model,
    ngram,
    plain_answer,
)
from tests.numpy_models import NumpyModel, ScriptedDrafter


def test_long_prompt_is_read_in_passes_that_a_batch_holds() -> None:
    target, prompt = model(n_batch=8), [1, 2, 3, 4, 5] * 5
    rounds = list(answer(target, prompt, max_tokens=3))
    assert [done.n_prompt for done in rounds] == [8, 8, 8, 1, 0, 0]
    assert [len(done.tokens) for done in rounds] == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("make_drafter", [ngram, draft_model])
def test_answer_can_be_closed_at_any_round_and_gone_on_with(make_drafter: Callable[[], Drafter]) -> None:
    expected = plain_answer()
    n_rounds = len(list(answer(model(n_batch=2), drafter=make_drafter())))
    for n in range(1, n_rounds):
        target, drafter = model(n_batch=2), make_drafter()
        first = answer(target, drafter=drafter)
        said = tokens_of(list(itertools.islice(first, n)))
        first.close()  # type: ignore[attr-defined]
        sequence = [*PROMPT, *said]
        assert list(target.cached) == sequence[: len(target.cached)]
        target.n_evaluated = 0
        rest = list(answer(target, sequence, drafter=drafter, max_tokens=40 - len(said)))
        assert [*said, *tokens_of(rest)] == expected
        assert sum(done.n_prompt for done in rest) == (1 if said else len(PROMPT) - 2 * n)


@pytest.mark.parametrize("make_drafter", [ngram, draft_model])
def test_cancelled_pass_leaves_a_cache_that_says_what_it_holds(make_drafter: Callable[[], Drafter]) -> None:
    n_passes = 12
    for n in range(1, n_passes):
        target, drafter = model(), make_drafter()
        target.cancel_at_pass = n
        said: list[int] = []
        rounds = answer(target, drafter=drafter)
        with pytest.raises(Cancelled):
            said.extend(token for done in rounds for token in done.tokens)
        sequence = [*PROMPT, *said]
        assert list(target.cached) == sequence[: len(target.cached)]
        target.cancel_at_pass = None
        rest = tokens_of(answer(target, sequence, drafter=drafter, max_tokens=40 - len(said)))
        assert [*said, *rest] == plain_answer()


class InterruptedGoingBack(NumpyModel):
    """Forgets all of its cache when it rolls drafts back, and is cancelled before it has evaluated it again."""

    def rewind(self, n_tokens: int) -> None:
        if len(self.cached) - n_tokens > 1:
            super().rewind(0)
            raise Cancelled("The work was stopped.")
        super().rewind(n_tokens)


def test_what_was_committed_before_a_cancelled_rewind_still_comes_out_as_a_round() -> None:
    target = InterruptedGoingBack(TABLE, end_tokens=frozenset({END}))
    rounds = list(answer(target, drafter=ScriptedDrafter(half_right)))
    assert tokens_of(rounds) == plain_answer()


def test_nothing_is_committed_when_the_drafter_is_cancelled_while_it_observes() -> None:
    class CancelledObserver(ScriptedDrafter):
        def observe(self, tokens: Sequence[int], first_position: int) -> None:
            super().observe(tokens, first_position)
            if len(self.observed) == 3:
                raise Cancelled("The work was stopped.")

    target, said = model(), list[int]()
    with pytest.raises(Cancelled):
        said.extend(
            token for done in answer(target, drafter=CancelledObserver(half_right)) for token in done.tokens
        )
    sequence = [*PROMPT, *said]
    assert list(target.cached) == sequence[:-1]


def test_next_turn_evaluates_only_what_is_new() -> None:
    target = model()
    said = tokens_of(answer(target, drafter=ScriptedDrafter(half_right)))
    rounds = list(answer(target, [*PROMPT, *said, 4, 5, 6]))
    # The last token of the first answer was never evaluated.
    assert sum(done.n_prompt for done in rounds) == 1 + 3
    assert tokens_of(rounds) == plain_answer([*PROMPT, *said, 4, 5, 6])


def test_edit_in_the_middle_evaluates_from_the_edit_on() -> None:
    target, prompt = model(), [1, 2, 3, 4, 5, 6, 7, 8]
    list(answer(target, prompt))
    edited = [1, 2, 3, 9, 5, 6, 7, 8]
    rounds = list(answer(target, edited))
    assert sum(done.n_prompt for done in rounds) == 5
    assert tokens_of(rounds) == plain_answer(edited)


def test_same_prompt_again_evaluates_its_last_token() -> None:
    target = model()
    first = tokens_of(answer(target))
    rounds = list(answer(target))
    assert sum(done.n_prompt for done in rounds) == 1
    assert tokens_of(rounds) == first


def test_model_that_forgets_more_than_asked_gets_it_evaluated_again() -> None:
    class Forgetful(NumpyModel):
        def rewind(self, n_tokens: int) -> None:
            super().rewind(max(0, n_tokens - 2) if n_tokens < len(self.cached) else n_tokens)

    target = Forgetful(TABLE, end_tokens=frozenset({END}))
    assert tokens_of(answer(target, drafter=ScriptedDrafter(half_right))) == plain_answer()
