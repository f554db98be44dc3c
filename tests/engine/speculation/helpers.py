"""One answer of a numpy model, for tests of the loop."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from engine.speculation.draft_length import FixedLength
from engine.speculation.loop import decode_rounds
from engine.speculation.protocols import Drafter, DraftPolicy
from engine.speculation.round import Round
from engine.speculation.settings import SamplingSettings
from tests.numpy_models import LetterText, NumpyModel, NumpySampler

GREEDY = SamplingSettings()


def answer(
    target: NumpyModel,
    prompt: Sequence[int] = (1, 2, 3),
    *,
    settings: SamplingSettings = GREEDY,
    drafter: Drafter | None = None,
    n_draft: int = 4,
    policy: DraftPolicy | None = None,
    stop: tuple[str, ...] = (),
    max_tokens: int = 40,
    seed: int = 0,
    clock: Callable[[], float] | None = None,
) -> Iterator[Round]:
    """Return the rounds of an answer, not begun yet. `policy` replaces `n_draft`. Without `clock`, a clock
    that counts how often it is asked."""
    ticks = itertools.count()
    return decode_rounds(
        target,
        prompt,
        sampler=NumpySampler(settings),
        drafters=() if drafter is None else (drafter,),
        policy=policy or FixedLength(n_draft),
        text=LetterText(stop),
        max_tokens=max_tokens,
        rng=np.random.default_rng(seed),
        clock=clock or (lambda: float(next(ticks))),
    )


def tokens_of(rounds: Iterator[Round] | Sequence[Round]) -> list[int]:
    return [token for done in rounds for token in done.tokens]


def text_of(tokens: Sequence[int]) -> str:
    return "".join(chr(ord("a") + token) for token in tokens)
