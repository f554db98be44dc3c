"""A quantity that is measured again and again on a computer that does other things too."""

from __future__ import annotations

from typing import Final

N_KEPT: Final = 11


class Samples:
    """The median of the last 11 measurements: one that another program disturbed does not count."""

    __slots__ = ("_kept", "median", "n")

    def __init__(self, median: float = 0.0, n: int = 0) -> None:
        """Begin with `median` as if it had been measured `n` times."""
        self.n = n
        self.median = median
        self._kept = [median] * min(n, N_KEPT)

    def add(self, value: float) -> None:
        kept = self._kept
        kept.append(value)
        if len(kept) > N_KEPT:
            del kept[0]
        self.n += 1
        ordered = sorted(kept)
        middle = len(ordered) // 2
        self.median = ordered[middle] if len(ordered) % 2 else 0.5 * (ordered[middle - 1] + ordered[middle])
