"""The clock of one round: what drafting and verification took, and the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stopwatch:
    """Runs from its making; `draft_s` and `verify_s` add up the time spent in their `with` blocks, in
    seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._started = clock()
        self.draft_s = 0.0
        self.verify_s = 0.0

    @property
    def total_s(self) -> float:
        return self._clock() - self._started

    @contextmanager
    def drafting(self) -> Iterator[None]:
        began = self._clock()
        yield
        self.draft_s += self._clock() - began

    @contextmanager
    def verifying(self) -> Iterator[None]:
        began = self._clock()
        yield
        self.verify_s += self._clock() - began
