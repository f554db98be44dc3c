"""The fixture `hub`: import it in a conftest.py to have a server of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hub_server.server import HubServer


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer().running() as server:
        yield server
