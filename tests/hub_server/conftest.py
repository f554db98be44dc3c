"""The server under test."""

from tests.hub_server.fixtures import hub

__all__ = ["hub"]
