"""A model opened without its weights: what it and contexts on it would take, in about 20 ms each."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from llama_cpp import llama_cpp as api

from engine.errors import MemoryNotTold
from engine.llama.breakdown import (
    HOST,
    BufferUse,
    MemoryUse,
    add_up,
    by_device,
    read_breakdown,
)
from engine.llama.context_settings import ContextSettings, context_params, n_ctx_train_of
from engine.llama.layer_split import LayerSplit, tensor_split
from engine.llama.library import LlamaLibrary
from engine.llama.load_errors import context_error, load_error
from engine.llama.opening import found_flash_attention, use_heads
from engine.llama.unused_tensors import unused_bytes
from engine.models.gguf_header import GgufHeader, read_header
from engine.models.parts import join_parts, read_parts

_EMBEDDING: Final = "token_embd.weight"
_TENSOR_ALIGNMENT: Final = 128
_STATE_PROBES: Final = (256, 512)


class ModelForecast:
    """A model without its weights. Close it, or use it as a context manager."""

    def __init__(self, library: LlamaLibrary, pointer: Any, header: GgufHeader, used_bytes: int) -> None:
        """Take over `pointer`; use `open`."""
        self.header = header
        self.n_ctx_train = n_ctx_train_of(pointer)
        self.n_layers = int(api.llama_model_n_layer(pointer))
        self.n_vocab = int(api.llama_vocab_n_tokens(api.llama_model_get_vocab(pointer)))
        self.n_embd = int(api.llama_model_n_embd(pointer))
        self.n_embd_out = int(api.llama_model_n_embd_out(pointer))
        self.has_state = bool(api.llama_model_is_recurrent(pointer) or api.llama_model_is_hybrid(pointer))
        self._library = library
        self._pointer: Any = pointer
        self._used_bytes = used_bytes
        self._states: dict[ContextSettings, dict[str, int]] = {}

    @classmethod
    def open(
        cls,
        library: LlamaLibrary,
        path: Path,
        n_gpu_layers: int,
        *,
        with_mtp: bool = False,
        split: LayerSplit = (),
    ) -> Self:
        """Open the model at `path`, a whole file or a header-only sparse one of the right length, with all its
        parts.

        `with_mtp`: with the MTP head inside it. `split`: how several GPUs share the layers. Raises what reading its
        header raises, UnknownArchitecture or LoadFailed.
        """
        first = read_header(path)
        header = join_parts(read_parts(path, first))
        params = api.llama_model_default_params()
        params.n_gpu_layers = n_gpu_layers
        params.load_mtp = with_mtp
        params.no_alloc = True
        params.tensor_split = shares = tensor_split(split)
        # Any other mode runs into GGML_ASSERT(!ml.no_alloc) (src/llama-model.cpp).
        params.load_mode = api.LLAMA_LOAD_MODE_NONE
        with library.log.recording() as record:
            pointer = api.llama_model_load_from_file(os.fsencode(path), params)
        del shares
        if not pointer:
            raise load_error(path.name, record)
        return cls(library, pointer, header, header.tensor_bytes - unused_bytes(record))

    # ---------------------------------------------------------------------------------------------- contexts

    @contextmanager
    def context(
        self,
        settings: ContextSettings,
        n_ctx: int,
        *,
        beside: ForecastContext | None = None,
        is_mtp: bool = False,
    ) -> Iterator[ForecastContext]:
        """Make a context that takes next to no memory; `beside` and `is_mtp` as in engine.llama.opening.

        Raises LoadFailed, KvTypeUnfit, or MemoryNotTold where this build of llama.cpp has no account of memory.
        """
        params = context_params(settings, n_ctx)
        if is_mtp:
            use_heads(params, with_flash_attention=beside is not None and beside.uses_flash_attention)
        if beside is not None:
            params.ctx_other = ctypes.cast(beside.pointer, ctypes.c_void_p)
        with self._library.log.recording() as record:
            pointer = api.llama_init_from_model(self._pointer, params)
        if not pointer:
            raise context_error(n_ctx, record)
        try:
            buffers = read_breakdown(pointer)
            if buffers is None:
                raise MemoryNotTold("This build of llama.cpp does not say what a model takes.")
            yield ForecastContext(pointer, buffers, found_flash_attention(settings, record))
        finally:
            api.llama_free(pointer)

    def state_bytes(self, settings: ContextSettings) -> dict[str, int]:
        """Return by device what a running state and its snapshots take, whatever the context's length; {}
        without one.

        Both probes lie within one pass, where every attention layer, windowed or not, caches all of them: what
        is left at length 0 is the state.
        """
        if not self.has_state:
            return {}
        key = replace(settings, n_ctx=0)
        if key not in self._states:
            short, long = (self._cache_bytes(settings, n_ctx) for n_ctx in _STATE_PROBES)
            self._states[key] = {name: 2 * short[name] - long.get(name, 0) for name in short}
        return self._states[key]

    def _cache_bytes(self, settings: ContextSettings, n_ctx: int) -> dict[str, int]:
        with self.context(settings, n_ctx) as made:
            return {name: use.kv_bytes for name, use in by_device(made.buffers).items()}

    # ----------------------------------------------------------------------------------------------- weights

    def weights(self, context: ForecastContext) -> dict[str, int]:
        """Return what the weights take by device."""
        total = {name: use.weights_bytes for name, use in by_device(context.buffers).items()}
        if self._is_embedding_counted_twice(context, sum(total.values())):
            total[HOST] -= self._embedding_bytes
        return total

    @property
    def _embedding_bytes(self) -> int:
        return next((t.n_bytes or 0 for t in self.header.tensors if t.name == _EMBEDDING), 0)

    def _is_embedding_counted_twice(self, context: ForecastContext, total_bytes: int) -> bool:
        """Whether an embedding that serves as output layer as well is one piece of a mapped file, counted twice.

        A GPU and a repacked copy hold a second one for real.
        """
        embedding_bytes = self._embedding_bytes
        surplus_bytes = total_bytes - self._used_bytes - embedding_bytes
        # Each tensor begins at a round address.
        if not embedding_bytes or not 0 <= surplus_bytes < _TENSOR_ALIGNMENT * len(self.header.tensors):
            return False
        copies = [
            buffer.use.weights_bytes >= embedding_bytes
            for buffer in context.buffers
            if (buffer.buffer_type, buffer.device) != (HOST, HOST)
        ]
        return not any(copies)

    def close(self) -> None:
        """Free the model; does nothing the second time."""
        if self._pointer is not None:
            api.llama_model_free(self._pointer)
            self._pointer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class ForecastContext:
    """A context of a ModelForecast while it lives; `buffers` count its model's weights as well."""

    pointer: Any
    buffers: tuple[BufferUse, ...]
    uses_flash_attention: bool

    @property
    def memory(self) -> dict[str, MemoryUse]:
        """Return caches and compute buffers by device."""
        return add_up([{name: use.without_weights()} for name, use in by_device(self.buffers).items()])
