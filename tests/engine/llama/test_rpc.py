"""Servers of other computers that cannot be had are left out, and llama.cpp starts all the same."""

from __future__ import annotations

import logging
import socket

import pytest

from engine.llama.library import LlamaLibrary
from engine.llama.rpc import RPC_SERVERS_VARIABLE, is_reachable, register_rpc_servers
from tests.engine.cli.slipstream import slipstream


def test_nothing_is_registered_unless_servers_are_named(
    llama: LlamaLibrary, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv(RPC_SERVERS_VARIABLE, raising=False)
    with caplog.at_level(logging.WARNING):
        register_rpc_servers()
    assert caplog.records == []


def test_a_server_that_nobody_runs_is_left_out() -> None:
    outcome = slipstream("devices", environment={RPC_SERVERS_VARIABLE: "127.0.0.1:1, nonsense"})
    assert outcome.code == 0
    assert "CPU" in outcome.out


@pytest.mark.parametrize("server", ["127.0.0.1:1", "nonsense", "", "127.0.0.1:many", "127.0.0.1:99999"])
def test_what_cannot_be_reached_is_known_before_llama_cpp_would_abort(server: str) -> None:
    assert not is_reachable(server)


def test_a_server_that_listens_is_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        assert is_reachable(f"127.0.0.1:{listening.getsockname()[1]}")
