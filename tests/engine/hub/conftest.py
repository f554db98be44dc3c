"""The server, and clients of it that wait briefly and read no token of the person who runs the tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from engine.hub.client import HubClient
from engine.hub.connection import Connection, Timeouts
from tests.hub_server.fixtures import hub
from tests.hub_server.server import HubServer, Served

__all__ = ["client", "client_with", "connection_with", "hub", "requests_of"]

BRIEF = Timeouts(connect_s=1.0, read_s=1.0, answer_s=3.0)


def requests_of(hub: HubServer, n: int) -> tuple[Served, ...]:
    """Return the log once it holds `n` requests: the server writes it after its answer has gone out."""
    deadline = time.monotonic() + 5
    while len(hub.log) < n and time.monotonic() < deadline:
        time.sleep(0.01)
    return hub.log


@pytest.fixture
def client_with(hub: HubServer) -> Iterator[Callable[[str], HubClient]]:
    """Makes clients with a token."""
    made: list[HubClient] = []

    def make(token: str) -> HubClient:
        made.append(HubClient(hub.endpoint, lambda: token, BRIEF))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def client(client_with: Callable[[str], HubClient]) -> HubClient:
    return client_with("")


@pytest.fixture
def connection_with(hub: HubServer) -> Iterator[Callable[[str], Connection]]:
    """Makes connections with a token."""
    made: list[Connection] = []

    def make(token: str) -> Connection:
        made.append(Connection(hub.endpoint, lambda: token, BRIEF))
        return made[-1]

    yield make
    for each in made:
        each.close()
