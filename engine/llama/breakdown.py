"""Exact memory: what a context really takes, and what one would take before anything is allocated."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from llama_cpp import llama_cpp as api

from engine.llama.context import Context
from engine.llama.context_settings import ContextSettings, context_params
from engine.llama.library import LlamaLibrary, find_symbol
from engine.llama.load_errors import context_error, load_error
from engine.llama.log import LogRecord
from engine.models.gguf_header import GgufHeader, read_header

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


def allocated(context: Context) -> MemoryByDevice:
    """Return what `context` and its model's weights take, by device name; {} if this build does not tell."""
    return _breakdown(context.pointer) or {}


class MemoryForecast:
    """A model without its weights: says what contexts on it would take, in about 20 ms each."""

    def __init__(self, library: LlamaLibrary, pointer: Any, header: GgufHeader) -> None:
        self._library = library
        self._pointer = pointer
        self._header = header

    def measure(self, settings: ContextSettings, n_ctx: int) -> MemoryByDevice:
        """Return what the weights and a context of `n_ctx` tokens would take; raises LoadFailed."""
        with self._library.log.recording() as record:
            context = api.llama_init_from_model(self._pointer, context_params(settings, n_ctx))
        if not context:
            raise context_error(n_ctx, record)
        try:
            one = _breakdown(context) or _from_log(record, self._header)
        finally:
            api.llama_free(context)
        # Rows of logits in main memory are not in llama.cpp's account.
        rows_bytes = (
            settings.max_rows * int(api.llama_vocab_n_tokens(api.llama_model_get_vocab(self._pointer))) * 4
        )
        return add_up([one, {HOST: MemoryUse(compute_bytes=rows_bytes)}])


@contextmanager
def forecast(library: LlamaLibrary, path: Path, n_gpu_layers: int) -> Iterator[MemoryForecast]:
    """Open the model at `path` without reading its weights (llama.cpp's no_alloc); takes under a second.

    Raises what reading its header raises, UnknownArchitecture or LoadFailed.
    """
    header = read_header(path)
    params = api.llama_model_default_params()
    params.n_gpu_layers = n_gpu_layers
    params.no_alloc = True
    # Any other mode runs into GGML_ASSERT(!ml.no_alloc) (src/llama-model.cpp).
    params.load_mode = api.LLAMA_LOAD_MODE_NONE
    with library.log.recording() as record:
        pointer = api.llama_model_load_from_file(os.fsencode(path), params)
    if not pointer:
        raise load_error(path.name, record)
    try:
        yield MemoryForecast(library, pointer, header)
    finally:
        api.llama_model_free(pointer)


# --------------------------------------------------------------------------- llama_get_memory_breakdown

# It returns a std::map<ggml_backend_buffer_type_t, {model, context, compute}> by value: a hidden pointer,
# which libffi passes for a structure of that size, and a red-black tree of nodes whose value begins at byte
# 32. (map's size, its root, left child in a node, right child): libc++ on macOS, libstdc++ elsewhere.
_LAYOUT: Final = (24, 8, 0, 8) if sys.platform == "darwin" else (48, 16, 16, 24)
_NODE_VALUE: Final = 32


class _Map(ctypes.Structure):
    _fields_ = (("words", ctypes.c_uint64 * (_LAYOUT[0] // 8)),)


def _breakdown(context: Any) -> dict[str, MemoryUse] | None:
    """Return llama.cpp's own account by device; None where its private function is not exported."""
    get_map = find_symbol(_BREAKDOWN, _Map, ctypes.c_void_p)
    is_host = find_symbol("ggml_backend_buft_is_host", ctypes.c_bool, ctypes.c_void_p)
    device_of = find_symbol("ggml_backend_buft_get_device", ctypes.c_void_p, ctypes.c_void_p)
    name_of = find_symbol("ggml_backend_dev_name", ctypes.c_char_p, ctypes.c_void_p)
    if not (get_map and is_host and device_of and name_of):
        return None
    words = get_map(context).words
    count = words[_LAYOUT[0] // 8 - 1]
    if not 0 < count <= _MAX_BUFFER_TYPES:
        return None
    total: dict[str, MemoryUse] = {}
    for buffer_type, weights, cache, compute in _walk(words[_LAYOUT[1] // 8]):
        handle = None if is_host(buffer_type) else device_of(buffer_type)
        name = name_of(handle).decode() if handle else HOST
        total[name] = total.get(name, MemoryUse()) + MemoryUse(weights, cache, compute)
    return total


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


def _from_log(record: LogRecord, header: GgufHeader) -> dict[str, MemoryUse]:
    """Return the account as far as the log gives it, as if all were on the first GPU, or on the CPU without
    one.
    """
    log = "\n".join(line.text for line in record.lines)
    cache = sum(float(a or b) for a, b in _CACHE_SIZE.findall(log))
    compute = sum(map(float, _COMPUTE_SIZE.findall(log)))
    device = _first_gpu() or HOST
    return {device: MemoryUse(header.tensor_bytes, int(cache * _MIB), int(compute * _MIB))}


def _first_gpu() -> str:
    by_type = find_symbol("ggml_backend_dev_by_type", ctypes.c_void_p, ctypes.c_int)
    name_of = find_symbol("ggml_backend_dev_name", ctypes.c_char_p, ctypes.c_void_p)
    handle = by_type(1) if by_type else None
    return str(name_of(handle).decode()) if handle and name_of else ""
