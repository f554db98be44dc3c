"""A local Hub, and downloads from it into a folder of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.download.line import Hub
from tests.engine.download.kit import Running
from tests.hub_server.fixtures import hub
from tests.hub_server.server import HubServer

__all__ = ["hub"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "models"


@pytest.fixture
def source(hub: HubServer) -> Hub:
    return Hub(hub.endpoint, lambda: None)


@pytest.fixture
def running(folder: Path, source: Hub) -> Iterator[Running]:
    """Downloads with little patience, stopped at the end of the test."""
    made = Running(folder, source)
    yield made
    made.stop()
