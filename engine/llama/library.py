"""The loaded llama.cpp: started once per process, and its version."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

from llama_cpp import llama_cpp as api

from engine.llama.environment import prepare_environment
from engine.llama.log import LlamaLog
from engine.llama.rpc import register_rpc_servers
from engine.llama.symbols import find_symbol as find_symbol
from engine.llama.symbols import library_folder as library_folder


@dataclass(frozen=True, slots=True)
class LlamaLibrary:
    """llama.cpp after its start: what models are opened with. `log` receives everything that it says."""

    log: LlamaLog

    @property
    def version(self) -> str:
        return str(api.llama_version().decode("utf-8", errors="replace"))

    @property
    def system_info(self) -> str:
        """Return the instruction sets and backends that this build uses, as llama.cpp prints them."""
        return str(api.llama_print_system_info().decode("utf-8", errors="replace")).strip()


def start_llama(on_trouble: Callable[[str, str], None] | None = None) -> LlamaLibrary:
    """Start llama.cpp's backends and capture its log; to be called once, before anything else here.

    `on_trouble(level, text)` gets llama.cpp's warnings and errors as they come, on the thread that logs.
    """
    prepare_environment()
    log = LlamaLog(on_trouble)
    log.install()
    api.llama_backend_init()
    _load_backends()
    register_rpc_servers()
    return LlamaLibrary(log)


def _load_backends() -> None:
    """Load ggml's backends from their files where none is linked in (builds with GGML_BACKEND_DL)."""
    count = find_symbol("ggml_backend_dev_count", ctypes.c_size_t)
    load = find_symbol("ggml_backend_load_all_from_path", None, ctypes.c_char_p)
    if count is not None and load is not None and count() == 0:
        load(str(library_folder()).encode())
