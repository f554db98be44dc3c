"""Waiting for something that cannot be interrupted, such as a name look-up, without being held by it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from engine.download.switch import Switch

T = TypeVar("T")
POLL_S = 0.02


def run_or_abandon(
    work: Callable[[], T], switch: Switch, on_late: Callable[[T], None] = lambda _result: None
) -> T:
    """Return what `work` returns, or raise what it raises. Raise Stopped as soon as the switch is off.

    `work` then goes on by itself on its own thread until it ends; `on_late` gets its result.
    """
    errand = _Errand(work, on_late)
    threading.Thread(target=errand.run, name="errand", daemon=True).start()
    while not errand.ended.wait(POLL_S):
        if switch.is_off and errand.abandon():
            switch.check()
    return errand.result()


class _Errand(Generic[T]):
    def __init__(self, work: Callable[[], T], on_late: Callable[[T], None]) -> None:
        self.ended = threading.Event()
        self._work = work
        self._on_late = on_late
        self._results: list[T] = []
        self._error: BaseException | None = None
        self._is_abandoned = False
        self._lock = threading.Lock()

    def run(self) -> None:
        try:
            self._results.append(self._work())
        except BaseException as error:  # noqa: BLE001  raised on the thread that waits, if it still does
            self._error = error
        with self._lock:
            self.ended.set()
            is_late = self._is_abandoned
        if is_late:
            for result in self._results:
                self._on_late(result)

    def abandon(self) -> bool:
        """Give up waiting; return False if it has just ended."""
        with self._lock:
            self._is_abandoned = not self.ended.is_set()
            return self._is_abandoned

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._results[0]
