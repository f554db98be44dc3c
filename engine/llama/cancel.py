"""Stopping llama.cpp in the middle of a pass, without any Python in the pass."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Final

_STOP: Final = 1


class CancelFlag:
    """A flag that llama.cpp itself reads between two nodes of a graph. Any thread may set or clear it.

    llama.cpp calls `bool abort(void *data)` after every node; a Python callback there would cost more than
    the node. C's `strlen` on a two-byte buffer `[flag, 0]` is such a function already: its result's lowest
    byte, which is what the caller reads as the bool, is 0 while the flag is 0 and 1 once it is set. Only the
    CPU backend asks (llama.h, abort_callback); elsewhere the flag is looked at between passes.
    """

    def __init__(self) -> None:
        self._buffer = (ctypes.c_uint8 * 2)(0, 0)

    def set(self) -> None:
        self._buffer[0] = _STOP

    def clear(self) -> None:
        self._buffer[0] = 0

    @property
    def is_set(self) -> bool:
        return self._buffer[0] != 0

    @property
    def callback_data(self) -> int:
        """Return the address to pass as the abort callback's data; valid while this object lives."""
        return ctypes.addressof(self._buffer)


def abort_callback_address() -> int:
    """Return the address of `strlen`, to be used as a ggml_abort_callback on a CancelFlag's data."""
    library: Any = ctypes.CDLL("ucrtbase") if sys.platform == "win32" else ctypes.CDLL(None)
    return ctypes.cast(library.strlen, ctypes.c_void_p).value or 0
