"""A quantity that is measured again and again on a computer that does other things too."""

from __future__ import annotations

import math
from statistics import median
from typing import Final

N_FIRST: Final = 9
N_SETTLED: Final = 5
"""What was measured so often in an earlier run is as good as the first nine of this one."""
_RATE: Final = 0.04
MOST_SURPRISE: Final = 0.3


class Samples:
    """What a measurement usually gives: the median of the first nine, which then follows later ones slowly.

    A measurement that is far off moves it no more than one that is 30 % off: another program may have disturbed it.
    """

    __slots__ = ("_first", "n", "usual")

    def __init__(self, usual: float = 0.0, n: int = 0) -> None:
        """Begin with `usual` as if it had been measured `n` times."""
        self.n = n
        self.usual = usual
        self._first = [usual] * (N_FIRST if n >= N_SETTLED else n)

    @classmethod
    def borrowed(cls, usual: float, n: int) -> Samples:
        """Begin with what was measured elsewhere: it counts as `n` measurements, and as one once there are others."""
        samples = cls(usual, n)
        del samples._first[1:]
        return samples

    @property
    def is_settled(self) -> bool:
        return len(self._first) >= N_FIRST

    def add(self, value: float) -> None:
        self.n += 1
        if len(self._first) < N_FIRST:
            self._first.append(value)
            self.usual = median(self._first)
            return
        surprise = math.log(value / self.usual)
        self.usual *= math.exp(_RATE * min(max(surprise, -MOST_SURPRISE), MOST_SURPRISE))

    def count(self) -> None:
        """Count one more measurement without learning from it."""
        self.n += 1
