"""A target and its drafter of any kind, really allocated, as the forecast says they would be."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llama_cpp import llama_cpp as api

from engine.llama.breakdown import HOST, MemoryUse, by_device, read_breakdown
from engine.llama.context_settings import ContextSettings, context_params
from engine.llama.drafter_contexts import drafter_settings, target_settings
from engine.models.bundle import DrafterChoice, DrafterKind


@dataclass(frozen=True, slots=True)
class RealBundle:
    """What both contexts take of main memory; the drafter's counts its weights."""

    target: MemoryUse
    drafter: MemoryUse


@contextlib.contextmanager
def real_bundle(
    target: Path, drafter: DrafterChoice, plain: ContextSettings, rollback_tokens: int
) -> Iterator[RealBundle]:
    settings = target_settings(plain, drafter.kind, rollback_tokens)
    is_mtp = drafter.kind is DrafterKind.MTP
    with contextlib.ExitStack() as stack:
        model = stack.enter_context(_model(target, load_mtp=is_mtp and not drafter.path))
        context = stack.enter_context(_context(model, settings))
        other = stack.enter_context(_model(Path(drafter.path), load_mtp=is_mtp)) if drafter.path else model
        limit = int(api.llama_model_n_ctx_train(other))
        own = stack.enter_context(
            _context(other, drafter_settings(settings, drafter.kind, limit), context, is_mtp)
        )
        yield RealBundle(_use(context), _use(own))


@contextlib.contextmanager
def _model(path: Path, *, load_mtp: bool) -> Iterator[Any]:
    params = api.llama_model_default_params()
    params.load_mtp = load_mtp
    pointer = api.llama_model_load_from_file(os.fsencode(path), params)
    assert pointer
    yield pointer
    api.llama_model_free(pointer)


@contextlib.contextmanager
def _context(model: Any, settings: ContextSettings, other: Any = None, is_mtp: bool = False) -> Iterator[Any]:
    params = context_params(settings, settings.n_ctx)
    if is_mtp:
        params.ctx_type = api.LLAMA_CONTEXT_TYPE_MTP
    if other is not None:
        params.ctx_other = ctypes.cast(other, ctypes.c_void_p)
    pointer = api.llama_init_from_model(model, params)
    assert pointer
    yield pointer
    api.llama_free(pointer)


def _use(context: Any) -> MemoryUse:
    buffers = read_breakdown(context)
    assert buffers is not None
    return by_device(buffers)[HOST]
