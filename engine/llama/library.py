"""The loaded llama.cpp: started once per process, its version, and symbols that llama-cpp-python does not
bind.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llama_cpp import llama_cpp as api

from engine.llama.environment import prepare_environment
from engine.llama.log import LlamaLog

Function = Callable[..., Any]


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
    return LlamaLibrary(log)


def _load_backends() -> None:
    """Load ggml's backends from their files where none is linked in (builds with GGML_BACKEND_DL)."""
    count = find_symbol("ggml_backend_dev_count", ctypes.c_size_t)
    load = find_symbol("ggml_backend_load_all_from_path", None, ctypes.c_char_p)
    if count is not None and load is not None and count() == 0:
        load(str(library_folder()).encode())


def library_folder() -> Path:
    """Return the folder of the shared libraries that llama-cpp-python loaded."""
    return Path(api.__file__).parent / "lib"


def find_symbol(name: str, result: Any, *arguments: Any) -> Function | None:
    """Return a function of llama.cpp or ggml that llama-cpp-python does not bind.

    None if this build has none.
    """
    for library in _libraries():
        prototype = ctypes.CFUNCTYPE(result, *arguments)
        try:
            return prototype((name, library))
        except (AttributeError, ValueError):
            continue
    return None


def _libraries() -> list[ctypes.CDLL]:
    # On Linux and macOS a lookup in libllama also searches the ggml libraries that it depends on; Windows
    # looks in the one DLL only.
    libraries: list[ctypes.CDLL] = [api._lib]
    if sys.platform == "win32":
        paths = (library_folder() / name for name in ("ggml.dll", "ggml-base.dll"))
        libraries += [ctypes.CDLL(str(path)) for path in paths if path.exists()]
    return libraries
