"""llama.cpp's own account of memory: weights, caches and compute buffers of a context, by device."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engine.llama.symbols import Function, find_symbol

HOST: Final = "CPU"

_MAX_BUFFER_TYPES: Final = 64


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes on one device: weights, cache (KV and running states), compute buffers."""

    weights_bytes: int = 0
    kv_bytes: int = 0
    compute_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        return self.weights_bytes + self.kv_bytes + self.compute_bytes

    def __add__(self, other: MemoryUse) -> MemoryUse:
        return MemoryUse(
            self.weights_bytes + other.weights_bytes,
            self.kv_bytes + other.kv_bytes,
            self.compute_bytes + other.compute_bytes,
        )

    def without_weights(self) -> MemoryUse:
        return MemoryUse(0, self.kv_bytes, self.compute_bytes)


MemoryByDevice = Mapping[str, MemoryUse]


def add_up(parts: Iterable[MemoryByDevice]) -> dict[str, MemoryUse]:
    """Return the sum over `parts`, device by device."""
    total: dict[str, MemoryUse] = {}
    for part in parts:
        for device, use in part.items():
            total[device] = total.get(device, MemoryUse()) + use
    return total


@dataclass(frozen=True, slots=True)
class BufferUse:
    """One kind of buffer: ggml's name for it, the device that it lies on (HOST for main memory), and its bytes."""

    buffer_type: str
    device: str
    use: MemoryUse


def by_device(buffers: Iterable[BufferUse]) -> dict[str, MemoryUse]:
    return add_up({buffer.device: buffer.use} for buffer in buffers)


# --------------------------------------------------------------------------- llama_get_memory_breakdown


@dataclass(frozen=True, slots=True)
class MapLayout:
    """How a C++ library lays out a std::map: the words of the map itself, then the bytes in a node of its tree.

    `root_of_head` is where the map's head says its root, -1 where the map does so itself. `is_nil` is the flag of the
    node that stands for none, -1 where that is a null pointer. A node's value begins at byte 32 in all of them.
    """

    n_words: int
    root_word: int
    count_word: int
    left: int
    right: int
    root_of_head: int = -1
    is_nil: int = -1


LIBSTDCXX: Final = MapLayout(n_words=6, root_word=2, count_word=5, left=16, right=24)
LIBCXX: Final = MapLayout(n_words=3, root_word=1, count_word=2, left=0, right=8)
# The struct _Tree_node of Microsoft's <xtree>: _Left, _Parent, _Right, _Color, _Isnil, _Myval.
MSVC: Final = MapLayout(n_words=2, root_word=0, count_word=1, left=0, right=16, root_of_head=8, is_nil=25)

_NODE_VALUE: Final = 32
_ITANIUM_NAME: Final = "_Z26llama_get_memory_breakdownPK13llama_context"
_MSVC_NAME: Final = (
    "?llama_get_memory_breakdown@@YA?AV?$map@PEAUggml_backend_buffer_type@@Ullama_memory_breakdown_data@@"
    "U?$less@PEAUggml_backend_buffer_type@@@std@@V?$allocator@U?$pair@QEAUggml_backend_buffer_type@@"
    "Ullama_memory_breakdown_data@@@std@@@4@@std@@PEBUllama_context@@@Z"
)


def read_breakdown(context: Any) -> tuple[BufferUse, ...] | None:
    """Return what the context at address `context` and its model take; None where this build does not tell."""
    get_map, layout = _find_breakdown()
    is_host = find_symbol("ggml_backend_buft_is_host", ctypes.c_bool, ctypes.c_void_p)
    device_of = find_symbol("ggml_backend_buft_get_device", ctypes.c_void_p, ctypes.c_void_p)
    name_of = find_symbol("ggml_backend_dev_name", ctypes.c_char_p, ctypes.c_void_p)
    type_name_of = find_symbol("ggml_backend_buft_name", ctypes.c_char_p, ctypes.c_void_p)
    if not (get_map and is_host and device_of and name_of and type_name_of):
        return None
    buffers = []
    for buffer_type, weights, cache, compute in read_map(get_map(context).words, layout):
        handle = None if is_host(buffer_type) else device_of(buffer_type)
        device = name_of(handle).decode() if handle else HOST
        type_name = (type_name_of(buffer_type) or b"").decode()
        buffers.append(BufferUse(type_name, device, MemoryUse(weights, cache, compute)))
    return tuple(buffers) or None


def _find_breakdown() -> tuple[Function | None, MapLayout]:
    """Return the function and the layout of the map that it returns, a map<ggml_backend_buffer_type_t, {model, context,
    compute}> by value: a hidden pointer, which libffi passes for a structure of that size.
    """
    itanium = LIBCXX if sys.platform == "darwin" else LIBSTDCXX
    for name, layout in ((_ITANIUM_NAME, itanium), (_MSVC_NAME, MSVC)):
        found = find_symbol(name, _map_type(layout.n_words), ctypes.c_void_p)
        if found is not None:
            return found, layout
    return None, itanium


@functools.cache
def _map_type(n_words: int) -> type[ctypes.Structure]:
    return type("_Map", (ctypes.Structure,), {"_fields_": (("words", ctypes.c_uint64 * n_words),)})


def read_map(words: Sequence[int], layout: MapLayout) -> list[tuple[int, int, int, int]]:
    """Return keys and values in the map whose own `words` these are; [] where it cannot be of this `layout`."""
    if not 0 < words[layout.count_word] <= _MAX_BUFFER_TYPES:
        return []
    root = words[layout.root_word]
    if layout.root_of_head >= 0:
        root = _word(root + layout.root_of_head)
    return list(_walk(root, layout))


def _walk(node: int, layout: MapLayout) -> Iterator[tuple[int, int, int, int]]:
    if not node or (layout.is_nil >= 0 and ctypes.c_uint8.from_address(node + layout.is_nil).value):
        return
    yield from _walk(_word(node + layout.left), layout)
    key, weights, cache, compute = (_word(node + _NODE_VALUE + 8 * i) for i in range(4))
    yield key, weights, cache, compute
    yield from _walk(_word(node + layout.right), layout)


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value
