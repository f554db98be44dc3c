"""How much may be lost to finding out whether something else would be better."""

from __future__ import annotations

from typing import Final

SHARE: Final = 0.01
START: Final = 0.7
MOST: Final = 2.5


class Allowance:
    """Single passes that may be lost to trials: 1 % of what an answer takes, and a little in advance."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = START

    def earn(self, passes: float) -> None:
        """An answer took `passes` single passes more."""
        self.left = min(self.left + SHARE * passes, MOST)

    def covers(self, passes: float) -> bool:
        return passes <= self.left

    def spend(self, passes: float) -> None:
        self.left -= max(0.0, passes)
