"""How long the worker has been inside one step of its work."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator


class Activity:
    """A stopwatch that one thread starts and stops and another reads. A step is one load, one round, one
    listing.
    """

    def __init__(self) -> None:
        self._since_s: float | None = None

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        self._since_s = time.monotonic()
        try:
            yield
        finally:
            self._since_s = None

    def restart(self) -> None:
        """Count from now: the step has shown progress."""
        self._since_s = time.monotonic()

    def running_s(self) -> float:
        """Return the seconds since the current step began, 0 if there is none."""
        since_s = self._since_s
        return 0.0 if since_s is None else time.monotonic() - since_s
