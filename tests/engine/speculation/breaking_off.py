"""Breaking a pass off in its middle, at the same place every time."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

from llama_cpp import llama_cpp as api

from engine.llama.cancel import abort_callback_address
from tests.engine.speculation.kinds import OpenKind


@contextlib.contextmanager
def broken_off_at_node(opened: OpenKind, n_nodes: int) -> Iterator[None]:
    """Cancel as soon as so many nodes of graphs are computed, the target's and the drafter's together.

    A person cancels from another thread, at a moment that no seed brings back.
    """
    n_left = n_nodes

    def is_over(_: int | None) -> bool:
        nonlocal n_left
        n_left -= 1
        if n_left <= 0:
            opened.cancel.set()
        return n_left <= 0

    counting = api.ggml_abort_callback(is_over)
    pointers = [context.pointer for context in opened.bundle.contexts()]
    for pointer in pointers:
        api.llama_set_abort_callback(pointer, counting, None)
    try:
        yield
    finally:
        usual = ctypes.cast(abort_callback_address(), api.ggml_abort_callback)
        for pointer in pointers:
            api.llama_set_abort_callback(pointer, usual, opened.cancel.callback_data)
        opened.cancel.clear()
