"""How one thread stops another that waits, reads or sleeps."""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import dataclass, field


class Stopped(Exception):
    """The person, or the end of the program, stopped a download; it is no failure."""


@dataclass
class Switch:
    """Stops what waits, reads and sleeps on other threads, at once."""

    _event: threading.Event = field(default_factory=threading.Event)
    _sockets: list[socket.socket] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_off(self) -> bool:
        return self._event.is_set()

    def turn_off(self) -> None:
        with self._lock:
            self._event.set()
            for each in self._sockets:
                _shut(each)

    def check(self) -> None:
        """Raise Stopped if it is off."""
        if self.is_off:
            raise Stopped

    def sleep(self, delay_s: float) -> None:
        """Raise Stopped as soon as it is turned off."""
        if self._event.wait(delay_s):
            raise Stopped

    def watch(self, opened: socket.socket) -> None:
        """Shut `opened` when it is turned off."""
        with self._lock:
            self._sockets = [each for each in self._sockets if each.fileno() >= 0]
            self._sockets.append(opened)
            if self._event.is_set():
                _shut(opened)


def _shut(opened: socket.socket) -> None:
    # The base class' shutdown: SSLSocket's own would pull the TLS layer from under the thread that reads.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(opened, socket.SHUT_RDWR)
