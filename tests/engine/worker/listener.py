"""What a test hears from a service."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from engine.service import ServiceEvent
from engine.worker.messages import DevicesListed, Failed, Finished, Loaded, Unloaded

E = TypeVar("E")

PATIENCE_S = 30.0


class Listener:
    """Collects events; a test waits for the one that it needs."""

    def __init__(self) -> None:
        self.events: list[ServiceEvent] = []
        self._changed = threading.Condition()

    def __call__(self, event: ServiceEvent) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def wait_for(
        self,
        kind: type[E],
        condition: Callable[[E], bool] = lambda _: True,
        *,
        after: int = 0,
        timeout_s: float = PATIENCE_S,
    ) -> E:
        """Return the first event of `kind` from index `after` on that meets `condition`."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while True:
                for event in self.events[after:]:
                    if isinstance(event, kind) and condition(event):
                        return event
                if not self._changed.wait(deadline - time.monotonic()):
                    raise AssertionError(f"no {kind.__name__} came; there were {self.events[-10:]}")

    def wait_for_end(self, job: int) -> object:
        """Return the event that ended `job`, well or not."""
        ends = (Finished, Failed, Loaded, Unloaded, DevicesListed)
        return self.wait_for(object, lambda event: isinstance(event, ends) and event.job == job)

    def of(self, kind: type[E]) -> list[E]:
        with self._changed:
            return [event for event in self.events if isinstance(event, kind)]

    def mark(self) -> int:
        """Return the index from which on events are new."""
        with self._changed:
            return len(self.events)
