"""Devices of other computers, by llama.cpp's RPC back end; only for networks that are trusted, it has no passwords."""

from __future__ import annotations

import ctypes
import logging
import os
import socket
from typing import Final

from engine.llama.symbols import find_symbol

RPC_SERVERS_VARIABLE: Final = "SLIPSTREAM_RPC_SERVERS"
"""Names servers as host:port, separated by commas: ggml's `rpc-server`, or benchmarks/rpc_offload.py."""

_REACH_TIMEOUT_S: Final = 3.0

_log = logging.getLogger(__name__)


def register_rpc_servers() -> None:
    """Register the devices of the servers that the environment names; what cannot be reached is left out.

    Each of their devices is a GPU to llama.cpp, called RPC0, RPC1…: layers go to it over the network.
    """
    servers = [name.strip() for name in os.environ.get(RPC_SERVERS_VARIABLE, "").split(",") if name.strip()]
    if not servers:
        return
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    by_name = find_symbol("ggml_backend_reg_by_name", pointer, text)
    address_of = find_symbol("ggml_backend_reg_get_proc_address", pointer, pointer, text)
    register = find_symbol("ggml_backend_register", None, pointer)
    backend = by_name(b"RPC") if by_name else None
    address = address_of(backend, b"ggml_backend_rpc_add_server") if backend and address_of else None
    if not address or register is None:
        _log.warning(
            "This llama.cpp was built without its RPC back end: %s is not read.", RPC_SERVERS_VARIABLE
        )
        return
    add_server = ctypes.CFUNCTYPE(pointer, text)(address)
    for server in servers:
        registered = add_server(server.encode()) if is_reachable(server) else None
        if registered:
            register(registered)
        else:
            _log.warning("The RPC server %s cannot be reached.", server)


def is_reachable(server: str) -> bool:
    """Whether somebody listens there: ggml aborts the process where nobody does (ggml/src/ggml-rpc)."""
    host, _, port = server.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=_REACH_TIMEOUT_S):
            return True
    except (OSError, ValueError, OverflowError):
        return False
