"""Several files at a time, over a number of streams that all downloads share."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from engine.download.switch import Stopped, Switch

T = TypeVar("T")
SLOT_POLL_S = 0.05


def each_over_streams(
    work: Callable[[T], None], items: Iterable[T], slots: threading.Semaphore, n_streams: int, switch: Switch
) -> None:
    """Call `work` with each of `items` on at most `n_streams` threads, each call holding one of `slots`.

    The first error turns the switch off, so that the others stop too, and is raised. Raise Stopped if it was turned
    off from outside.
    """
    left, errors = deque(items), deque[Exception]()

    def run() -> None:
        while left and not switch.is_off:
            with suppress(IndexError):
                item = left.popleft()
                try:
                    with _slot(slots, switch):
                        work(item)
                except Exception as error:  # noqa: BLE001  raised again on the caller's thread
                    errors.append(error)
                    switch.turn_off()

    threads = [threading.Thread(target=run, daemon=True) for _ in range(min(n_streams, len(left)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise next((error for error in errors if not isinstance(error, Stopped)), errors[0])
    switch.check()


@contextmanager
def _slot(slots: threading.Semaphore, switch: Switch) -> Iterator[None]:
    while not slots.acquire(timeout=SLOT_POLL_S):
        switch.check()
    try:
        yield
    finally:
        slots.release()
