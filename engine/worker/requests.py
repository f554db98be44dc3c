"""The way from any thread into the engine thread: a queue that can be waited for like a pipe."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection

import msgspec

from engine.worker.messages import Command


class EndWorker(msgspec.Struct, frozen=True):
    """End the worker, start another and reload."""


class StopSupervision(msgspec.Struct, frozen=True):
    """End the worker and the engine thread."""


Request = Command | EndWorker | StopSupervision


class RequestQueue:
    """A queue of requests; `wakeup` becomes readable when there is one."""

    def __init__(self) -> None:
        self.wakeup: Connection
        self.wakeup, self._bell = get_context("spawn").Pipe(duplex=False)
        self._queue: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._rung = False
        self._closed = False

    def put(self, request: Request) -> None:
        """Add a request; never blocks: the bell is rung once until it is heard."""
        with self._lock:
            self._queue.put(request)
            if not self._rung and not self._closed:
                self._rung = True
                self._bell.send_bytes(b"!")

    def take(self) -> Iterator[Request]:
        """Yield every request that is there, in order."""
        with self._lock:
            if self._rung:
                self.wakeup.recv_bytes()
                self._rung = False
        while not self._queue.empty():
            yield self._queue.get_nowait()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._bell.close()
            self.wakeup.close()
