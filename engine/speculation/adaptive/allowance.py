"""How much may be lost to finding out whether something else would be better."""

from __future__ import annotations

from typing import Final

SHARE: Final = 0.01
START_PASSES: Final = 0.7
SAVED_SHARE: Final = 0.1
MOST_PASSES: Final = 4.0


class Allowance:
    """Single passes that may be lost to trials: a little in advance, 1 % of what an answer takes, and a share of what
    drafting has saved in it. So an answer in which drafting never pays loses 1 %, and one in which it paid does not
    give up for long over a bad stretch.
    """

    __slots__ = ("left_passes",)

    def __init__(self) -> None:
        self.left_passes = START_PASSES

    def earn(self, passes: float, n_tokens: int) -> None:
        """A round took `passes` single passes and yielded `n_tokens`, each of which takes one without drafts."""
        saved = max(0.0, n_tokens - passes)
        self.left_passes = min(self.left_passes + SHARE * passes + SAVED_SHARE * saved, MOST_PASSES)

    def covers(self, passes: float) -> bool:
        return passes <= self.left_passes

    def spend(self, passes: float) -> None:
        self.left_passes -= max(0.0, passes)
