"""Calls that are made one after the other on a thread of their own, so that nobody waits for them."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from engine.errors import SlipstreamError

_log = logging.getLogger(__name__)


class OrderedCalls:
    """Makes calls in the order in which they were put in. May be used from any thread."""

    def __init__(self, name: str) -> None:
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, call: Callable[[], None]) -> None:
        self._queue.put(call)

    def stop(self, timeout_s: float) -> None:
        """Make the calls that are waiting, then end; a call that hangs is left behind after `timeout_s`."""
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _serve(self) -> None:
        while (call := self._queue.get()) is not None:
            try:
                call()
            except SlipstreamError as error:
                # Nobody waits for an answer: a button was pressed for something that has ended meanwhile.
                _log.info("%s %s", error.sentence, error.detail)
            except Exception:  # noqa: BLE001 - a mistake of ours must not end the calls that follow
                _log.exception("A call failed")
