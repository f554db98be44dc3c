"""llama.cpp's own account of memory: weights, caches and compute buffers of a context, by device."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.llama.library import find_symbol
from engine.llama.log import LogRecord

HOST: Final = "CPU"

_BREAKDOWN: Final = "_Z26llama_get_memory_breakdownPK13llama_context"
_MAX_BUFFER_TYPES: Final = 64
_MIB: Final = 1 << 20


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

# It returns a std::map<ggml_backend_buffer_type_t, {model, context, compute}> by value: a hidden pointer,
# which libffi passes for a structure of that size, and a red-black tree of nodes whose value begins at byte
# 32. (map's size, its root, left child in a node, right child): libc++ on macOS, libstdc++ elsewhere.
_LAYOUT: Final = (24, 8, 0, 8) if sys.platform == "darwin" else (48, 16, 16, 24)
_NODE_VALUE: Final = 32


class _Map(ctypes.Structure):
    _fields_ = (("words", ctypes.c_uint64 * (_LAYOUT[0] // 8)),)


def read_breakdown(context: Any) -> tuple[BufferUse, ...] | None:
    """Return what the context at address `context` and its model take; None where this build does not tell."""
    get_map = find_symbol(_BREAKDOWN, _Map, ctypes.c_void_p)
    is_host = find_symbol("ggml_backend_buft_is_host", ctypes.c_bool, ctypes.c_void_p)
    device_of = find_symbol("ggml_backend_buft_get_device", ctypes.c_void_p, ctypes.c_void_p)
    name_of = find_symbol("ggml_backend_dev_name", ctypes.c_char_p, ctypes.c_void_p)
    type_name_of = find_symbol("ggml_backend_buft_name", ctypes.c_char_p, ctypes.c_void_p)
    if not (get_map and is_host and device_of and name_of and type_name_of):
        return None
    words = get_map(context).words
    count = words[_LAYOUT[0] // 8 - 1]
    if not 0 < count <= _MAX_BUFFER_TYPES:
        return None
    buffers = []
    for buffer_type, weights, cache, compute in _walk(words[_LAYOUT[1] // 8]):
        handle = None if is_host(buffer_type) else device_of(buffer_type)
        device = name_of(handle).decode() if handle else HOST
        type_name = (type_name_of(buffer_type) or b"").decode()
        buffers.append(BufferUse(type_name, device, MemoryUse(weights, cache, compute)))
    return tuple(buffers)


def _walk(node: int) -> Iterator[tuple[int, int, int, int]]:
    if not node:
        return
    yield from _walk(_word(node + _LAYOUT[2]))
    key, weights, cache, compute = (_word(node + _NODE_VALUE + 8 * i) for i in range(4))
    yield key, weights, cache, compute
    yield from _walk(_word(node + _LAYOUT[3]))


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


# ---------------------------------------------------------------------------------- what the log says

_CACHE_SIZE: Final = re.compile(r"llama_kv_cache\S*: size = +([\d.]+) MiB|RS buffer size = +([\d.]+) MiB")
_COMPUTE_SIZE: Final = re.compile(r"compute buffer size = +([\d.]+) MiB")


def breakdown_from_log(record: LogRecord, weights_bytes: int) -> tuple[BufferUse, ...]:
    """Return the account as far as the log of a context's creation gives it, to a hundredth of a MiB.

    It counts as if all were on the first GPU, or on the CPU without one.
    """
    log = "\n".join(line.text for line in record.lines)
    cache = sum(float(a or b) for a, b in _CACHE_SIZE.findall(log))
    compute = sum(map(float, _COMPUTE_SIZE.findall(log)))
    use = MemoryUse(weights_bytes, int(cache * _MIB), int(compute * _MIB))
    return (BufferUse("", _first_gpu() or HOST, use),)


def _first_gpu() -> str:
    by_type = find_symbol("ggml_backend_dev_by_type", ctypes.c_void_p, ctypes.c_int)
    name_of = find_symbol("ggml_backend_dev_name", ctypes.c_char_p, ctypes.c_void_p)
    handle = by_type(1) if by_type else None
    return str(name_of(handle).decode()) if handle and name_of else ""
