"""A line to the Hub that another thread can cut: HTTP with an end to every wait."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import httpx2
from huggingface_hub import constants, get_token

from engine.models.remote import RemoteFile

MAX_REDIRECTS = 5
_PORTS = {"http": 80, "https": 443}


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


@dataclass(frozen=True)
class Hub:
    """Where the Hub is, and by what right files are asked for. The token is read anew for every request."""

    endpoint: str = constants.ENDPOINT
    token: Callable[[], str | None] = get_token

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """Made once: reading the certificates takes longer than fetching a small file."""
        return httpx2.create_ssl_context()

    def address(self, file: RemoteFile) -> str:
        revision = quote(file.revision, safe="")
        return f"{self.endpoint.rstrip('/')}/{file.repo}/resolve/{revision}/{quote(file.path)}"

    def headers_for(self, url: str) -> dict[str, str]:
        """Return the token only for the Hub itself: what it redirects to is another's computer."""
        headers = {"User-Agent": "slipstream", "Accept-Encoding": "identity"}
        if _origin(url) == _origin(self.endpoint) and (token := self.token()):
            headers["Authorization"] = f"Bearer {token}"
        return headers


@dataclass(frozen=True)
class Line:
    """One thread's requests to the Hub; `stall_s` without a byte raises httpx2.ReadTimeout."""

    hub: Hub
    switch: Switch
    client: httpx2.Client
    stall_s: float
    connect_s: float

    @contextmanager
    def request(
        self, method: str, url: str, headers: Mapping[str, str] | None = None
    ) -> Iterator[httpx2.Response]:
        """Yield the answer before its body is read; the redirect is not followed.

        Raise Stopped, or httpx2.TransportError.
        """
        self.switch.check()
        timeout = httpx2.Timeout(self.stall_s, connect=self.connect_s)
        request = self.client.build_request(
            method,
            url,
            headers={**self.hub.headers_for(url), **(headers or {})},
            timeout=timeout,
            extensions={"trace": self._trace},
        )
        try:
            response = self.client.send(request, stream=True, follow_redirects=False)
        except httpx2.TransportError:
            self.switch.check()
            raise
        with contextlib.closing(response):
            yield response

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """See every new connection, so that the switch can cut it while a thread waits on it."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            opened = info["return_value"].get_extra_info("socket")
            if isinstance(opened, socket.socket):
                self.switch.watch(opened)


@contextmanager
def open_line(hub: Hub, switch: Switch, stall_s: float, connect_s: float) -> Iterator[Line]:
    # A client of its own: cutting its connections must not cut those of others, as in the Hub's shared session.
    with httpx2.Client(verify=hub.tls) as client:
        yield Line(hub, switch, client, stall_s, connect_s)


def redirect_target(url: str, response: httpx2.Response) -> str:
    """Return where `response` sends to, "" if nowhere."""
    location = response.headers.get("Location", "")
    return urljoin(url, location) if response.has_redirect_location else ""


def is_same_origin(one: str, other: str) -> bool:
    return _origin(one) == _origin(other)


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme, 0)


def _shut(opened: socket.socket) -> None:
    # The base class' shutdown: SSLSocket's own would pull the TLS layer from under the thread that reads.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(opened, socket.SHUT_RDWR)
