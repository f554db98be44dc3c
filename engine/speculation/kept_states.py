"""Hidden states that a drafter has read of its target and not used yet."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

States = NDArray[np.float32]

MAX_WAITING: Final = 128
"""Most states that a drafter keeps for later: they are wide, and rounds without a draft leave theirs unread."""

_SPARE_ROWS: Final = 64


class KeptStates:
    """One row of `width` numbers for each position from `start` to before `end`; copies, in one growing array."""

    def __init__(self, width: int) -> None:
        self.start = 0
        self._count = 0
        self._rows: States = np.zeros((_SPARE_ROWS, width), np.float32)

    @property
    def end(self) -> int:
        return self.start + self._count

    def covers(self, position: int) -> bool:
        return self.start <= position < self.end

    def between(self, first: int, end: int) -> States:
        """Return the rows of positions `first` to before `end`, which must be there: a view until the next change."""
        return self._rows[first - self.start : end - self.start]

    def put(self, first: int, rows: States) -> None:
        """Keep `rows` for positions from `first` on; what was kept from there on is void, as is what a gap cuts off."""
        self.truncate(first)
        if first != self.end:
            self.start, self._count = first, 0
        needed = self._count + len(rows)
        if needed > len(self._rows):
            grown = np.zeros((needed + _SPARE_ROWS, self._rows.shape[1]), np.float32)
            grown[: self._count] = self._rows[: self._count]
            self._rows = grown
        self._rows[self._count : needed] = rows
        self._count = needed

    def truncate(self, end: int) -> None:
        """Forget the rows from position `end` on."""
        self._count = min(self._count, max(end - self.start, 0))

    def drop_before(self, position: int) -> None:
        """Forget the rows before `position`."""
        n_dropped = min(max(position - self.start, 0), self._count)
        if n_dropped:
            self._count -= n_dropped
            self._rows[: self._count] = self._rows[n_dropped : n_dropped + self._count]
            self.start += n_dropped

    def clear(self, start: int = 0) -> None:
        """Forget every row; the next one is expected at position `start`."""
        self.start, self._count = start, 0
