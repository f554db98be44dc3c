"""A line to the Hub that another thread can cut: HTTP with an end to every wait."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2
from huggingface_hub import constants, get_token

from engine.download.abandon import run_or_abandon
from engine.download.switch import Switch
from engine.hub.connection import check_online_allowed, make_tls, open_client, resolve_url
from engine.models.remote import RemoteFile
from engine.version import slipstream_version

MAX_REDIRECTS = 5
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Hub:
    """Where the Hub is, and by what right files are asked for. The token is read anew for every request."""

    endpoint: str = constants.ENDPOINT
    token: Callable[[], str | None] = get_token

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """Made once: reading the certificates takes longer than fetching a small file. Raise HubTrouble."""
        return make_tls()

    @cached_property
    def user_agent(self) -> str:
        return f"slipstream/{slipstream_version()}"

    def address(self, file: RemoteFile) -> str:
        return resolve_url(file, self.endpoint)

    def headers_for(self, url: str) -> dict[str, str]:
        """Return the token only for the Hub itself: what it redirects to is another's computer."""
        headers = {"User-Agent": self.user_agent, "Accept-Encoding": "identity"}
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
        """Yield the answer before its body is read; a redirect is not followed.

        Raise Stopped, httpx2.TransportError, or Offline where HF_HUB_OFFLINE forbids it.
        """
        self.switch.check()
        check_online_allowed()
        timeout = httpx2.Timeout(self.stall_s, connect=self.connect_s)
        request = self.client.build_request(
            method,
            url,
            headers={**self.hub.headers_for(url), **(headers or {})},
            timeout=timeout,
            extensions={"trace": self._trace},
        )
        try:
            # Looking up a name and connecting cannot be cut by anybody.
            response = run_or_abandon(
                lambda: self.client.send(request, stream=True, follow_redirects=False),
                self.switch,
                httpx2.Response.close,
            )
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
    """Yield a line; raise Offline or HubTrouble where proxies or certificates are set that cannot be used."""
    # A client of its own: cutting its connections must not cut those of others, as in the Hub's shared session.
    with open_client(tls=hub.tls) as client:
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
