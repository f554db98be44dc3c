"""How fast a device reads weights: tokens decoded on a model of zeros that really lies in its memory."""

from __future__ import annotations

import ctypes
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from llama_cpp import llama_cpp as api

from engine.errors import Cancelled, LoadFailed
from engine.llama.blank_model import blank_tensors, read_bytes_per_token, write_blank_model
from engine.llama.cancel import CancelFlag
from engine.llama.context import Context, ContextSettings
from engine.llama.devices import default_threads
from engine.llama.library import LlamaLibrary
from engine.llama.load_errors import load_error
from engine.llama.model import Model
from engine.llama.symbols import find_symbol
from engine.models.description import Device
from engine.models.model_file import check_model_file

MAX_BYTES: Final = 1 << 30
MIN_BYTES: Final = 64 << 20
_FREE_SHARE: Final = 4
_N_CTX: Final = 256
_MAX_TOKENS: Final = 64
_MIN_TOKENS: Final = 5
_LONGEST_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class DecodeSpeed:
    """`token_s` is the time of one token, undisturbed, on a model of which each reads `bytes_per_token`."""

    token_s: float
    bytes_per_token: int

    @property
    def bytes_per_s(self) -> float:
        return self.bytes_per_token / self.token_s

    @property
    def tokens_per_s(self) -> float:
        return 1 / self.token_s


OnFraction = Callable[[float], None]


def blank_size_bytes(device: Device) -> int:
    """Return how large a model to measure `device` with: 1 GiB, less where a quarter of what is free is less."""
    return max(min(MAX_BYTES, device.memory_free_bytes // _FREE_SHARE), MIN_BYTES)


def measure_bandwidth(
    library: LlamaLibrary, device: Device, cancel: CancelFlag, on_fraction: OnFraction, size_bytes: int = 0
) -> DecodeSpeed:
    """Return how fast `device` decodes a model of zeros; `size_bytes` 0: chosen by what is free.

    Takes a few seconds. Raises Cancelled, LoadFailed, and NoSparseFiles or OSError where no temporary file
    can be made.
    """
    tensors = blank_tensors(size_bytes or blank_size_bytes(device))
    with tempfile.TemporaryDirectory(prefix="slipstream-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "blank.gguf"
        write_blank_model(path, tensors)
        return decode_speed(library, path, device, cancel, on_fraction, read_bytes_per_token(tensors))


def decode_speed(
    library: LlamaLibrary,
    path: Path,
    device: Device,
    cancel: CancelFlag,
    on_fraction: OnFraction,
    bytes_per_token: int = 0,
) -> DecodeSpeed:
    """Return how fast `device` alone decodes the model at `path`; `bytes_per_token` 0: all of its weights.

    Raises what Model.open and Context raise.
    """
    with (
        _open_on(library, path, device, cancel, lambda fraction: on_fraction(fraction / 2)) as model,
        Context(model, _settings(device), cancel) as context,
    ):
        context.warm_up()
        token_s = _token_s(context, lambda fraction: on_fraction(0.5 + fraction / 2))
        return DecodeSpeed(token_s, bytes_per_token or model.file.header.tensor_bytes)


def _settings(device: Device) -> ContextSettings:
    return ContextSettings(
        _N_CTX, default_threads(), max_rows=1, n_batch=32, offload_kqv=device.kind != "cpu"
    )


def _token_s(context: Context, on_fraction: OnFraction) -> float:
    """Decode one token after the other and return a time that nine in ten of them took at least.

    Where other programs take the cores now and then, the median already counts their share.
    """
    token = context.model.vocabulary.bos or 0
    times_s: list[float] = []
    began_s = time.perf_counter()
    while len(times_s) < _MAX_TOKENS:
        before_s = time.perf_counter()
        context.extend([token], 1)
        now_s = time.perf_counter()
        times_s.append(now_s - before_s)
        on_fraction(max(len(times_s) / _MAX_TOKENS, min((now_s - began_s) / _LONGEST_S, 1.0)))
        if now_s - began_s > _LONGEST_S and len(times_s) >= _MIN_TOKENS:
            break
    return sorted(times_s)[len(times_s) // 10]


def _open_on(
    library: LlamaLibrary, path: Path, device: Device, cancel: CancelFlag, on_fraction: OnFraction
) -> Model:
    """Load all of the model at `path` on `device` and nowhere else, into memory of its own: a mapped file of holes
    would be the same page of zeros over and over.
    """
    file = check_model_file(path)
    params = api.llama_model_default_params()
    params.load_mode = api.LLAMA_LOAD_MODE_NONE
    params.split_mode = api.LLAMA_SPLIT_MODE_NONE
    params.n_gpu_layers = 0 if device.kind == "cpu" else 999
    handles = _only(device)
    params.devices = ctypes.cast(handles, ctypes.c_void_p)

    def watch(fraction: float, _: object) -> bool:
        on_fraction(fraction)
        return not cancel.is_set

    params.progress_callback = callback = api.llama_progress_callback(watch)
    with library.log.recording() as record:
        pointer = api.llama_model_load_from_file(os.fsencode(path), params)
    del callback
    if cancel.is_set:
        if pointer:
            api.llama_model_free(pointer)
        raise Cancelled("Measuring was stopped.")
    if not pointer:
        raise load_error(path.name, record)
    return Model(library, file, pointer, record)


def _only(device: Device) -> Any:
    """Return llama.cpp's list of devices with `device` alone; an empty one for the processor."""
    handles = (ctypes.c_void_p * 2)(None, None)
    if device.kind == "cpu":
        return handles
    by_name = find_symbol("ggml_backend_dev_by_name", ctypes.c_void_p, ctypes.c_char_p)
    handle = by_name(device.name.encode()) if by_name is not None else None
    if handle is None:
        raise LoadFailed(f"{device.name} is not there any more.", remedy="Measure again.")
    handles[0] = handle
    return handles
