"""What choosing a token costs, and what is left of a pass in which none could be chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from engine.errors import DecodeFailed
from engine.speculation.draft_length import FixedLength
from engine.speculation.loop import decode_rounds
from engine.speculation.protocols import Logits
from engine.speculation.round import Round
from engine.speculation.settings import SamplingSettings
from tests.engine.speculation.helpers import answer, tokens_of
from tests.numpy_models import LetterText, NumpyModel, NumpySampler, ScriptedDrafter, markov_table

TABLE = markov_table(8, seed=1, sharpness=2.0)
PROMPT = (1, 2, 3)


class Grammar(NumpySampler):
    """Allows `n_allowed` tokens and nothing after them; `on_choice` is called for each choice."""

    n_allowed = 1000
    on_choice: Callable[[], None] = staticmethod(lambda: None)

    def argmax(self, logits: Logits) -> int:
        self.on_choice()
        if self.n_allowed <= 0:
            raise DecodeFailed("The grammar allows nothing.")
        return super().argmax(logits)

    def accept(self, token: int) -> None:
        super().accept(token)
        self.n_allowed -= 1

    def begin(self, prompt: Sequence[int]) -> None:
        """The grammar is about the answer alone."""


def right(history: Sequence[int], n_max: int) -> list[int]:
    ahead = list(history)
    for _ in range(n_max):
        ahead.append(int(TABLE[ahead[-1]].argmax()))
    return ahead[len(history) :]


def rounds_with(sampler: Grammar, n_draft: int, clock: Callable[[], float] = lambda: 0.0) -> Iterator[Round]:
    return decode_rounds(
        NumpyModel(TABLE),
        PROMPT,
        sampler=sampler,
        drafters=(ScriptedDrafter(right),),
        policy=FixedLength(n_draft),
        text=LetterText(),
        max_tokens=40,
        rng=np.random.default_rng(0),
        clock=clock,
    )


@pytest.mark.parametrize("n_draft", [0, 2, 4, 7])
@pytest.mark.parametrize("n_allowed", [1, 2, 5, 6, 9])
def test_tokens_before_a_dead_end_are_told_before_the_error(n_draft: int, n_allowed: int) -> None:
    sampler = Grammar(SamplingSettings())
    sampler.n_allowed = n_allowed
    said: list[int] = []
    with pytest.raises(DecodeFailed):
        said.extend(token for done in rounds_with(sampler, n_draft) for token in done.tokens)
    assert said == tokens_of(answer(NumpyModel(TABLE), PROMPT, max_tokens=n_allowed))


def test_looking_for_an_allowed_token_is_no_part_of_the_pass() -> None:
    now_s = [0.0]

    def look() -> None:
        now_s[0] += 5.0

    sampler = Grammar(SamplingSettings())
    sampler.on_choice = look
    rounds = list(rounds_with(sampler, 0, clock=lambda: now_s[0]))
    assert {done.verify_s for done in rounds} == {5.0}
    assert {done.pass_s for done in rounds} == {0.0}
