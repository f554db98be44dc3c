"""The clock of one round: what drafting and verification took, and the whole."""

from __future__ import annotations

from collections.abc import Callable


class Stopwatch:
    """Runs from its making; `draft_s`, `pass_s` and `verify_s` add up the time spent in `with` blocks, in seconds.

    A verification is the target's pass and the choice of tokens by it: `verify_s` has both, `pass_s` the pass alone.
    """

    __slots__ = ("_choosing", "_clock", "_drafting", "_passing", "_started")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._started = clock()
        self._drafting = Lap(clock)
        self._passing = Lap(clock)
        self._choosing = Lap(clock)

    @property
    def draft_s(self) -> float:
        return self._drafting.sum_s

    @property
    def pass_s(self) -> float:
        return self._passing.sum_s

    @property
    def verify_s(self) -> float:
        return self._passing.sum_s + self._choosing.sum_s

    @property
    def total_s(self) -> float:
        return self._clock() - self._started

    def drafting(self) -> Lap:
        return self._drafting

    def passing(self) -> Lap:
        return self._passing

    def choosing(self) -> Lap:
        return self._choosing


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
