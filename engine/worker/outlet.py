"""The worker's way out: events in order, rounds gathered so that telling about them does not slow them down."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

from engine.worker.messages import Event, RoundDone
from engine.worker.process import leave
from engine.worker.wire import EncodedEvent, encode_event, join_events

ROUNDS_EVERY_S = 1 / 30


class EventOutlet:
    """Sends events to the parent from any thread; ends the process when the parent is gone.

    A round that follows the last message within `ROUNDS_EVERY_S` waits for the next event. Every message wakes two
    threads of the parent, and on a computer of few cores those take time from the very pass that runs: at 80
    tokens per second one message a round cost a small model several percent of its speed.
    """

    def __init__(self, connection: Connection, clock: Callable[[], float] = time.monotonic) -> None:
        self._connection = connection
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: list[EncodedEvent] = []
        self._sent_at_s = -ROUNDS_EVERY_S

    def emit(self, event: Event) -> None:
        """Send `event`, at once or with the next one; raises what encode_event raises, and then sends nothing."""
        encoded = encode_event(event)
        with self._lock:
            self._waiting.append(encoded)
            now_s = self._clock()
            if isinstance(event, RoundDone) and now_s - self._sent_at_s < ROUNDS_EVERY_S:
                return
            self._sent_at_s = now_s
            data = join_events(self._waiting)
            self._waiting.clear()
            try:
                self._connection.send_bytes(data)
            except OSError:
                leave(0)
