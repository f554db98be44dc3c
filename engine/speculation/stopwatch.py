"""The clock of one round: what drafting and verification took, and the whole."""

from __future__ import annotations

from collections.abc import Callable


class Stopwatch:
    """Runs from its making; `draft_s` and `verify_s` add up the time spent in their `with` blocks, in
    seconds."""

    __slots__ = ("_clock", "_drafting", "_started", "_verifying")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._started = clock()
        self._drafting = Lap(clock)
        self._verifying = Lap(clock)

    @property
    def draft_s(self) -> float:
        return self._drafting.sum_s

    @property
    def verify_s(self) -> float:
        return self._verifying.sum_s

    @property
    def total_s(self) -> float:
        return self._clock() - self._started

    def drafting(self) -> Lap:
        return self._drafting

    def verifying(self) -> Lap:
        return self._verifying


class Lap:
    """Adds up the time spent in its `with` blocks: plain methods, since a round has few microseconds to spare."""

    __slots__ = ("_began", "_clock", "sum_s")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began = 0.0
        self.sum_s = 0.0

    def __enter__(self) -> None:
        self._began = self._clock()

    def __exit__(self, *_: object) -> None:
        self.sum_s += self._clock() - self._began
