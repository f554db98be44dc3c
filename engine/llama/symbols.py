"""Functions of llama.cpp and ggml that llama-cpp-python does not bind."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llama_cpp import llama_cpp as api

Function = Callable[..., Any]


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
