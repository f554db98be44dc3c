"""Making one of llama.cpp's contexts: what the target's and every drafter's have in common."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from llama_cpp import llama_cpp as api

from engine.budget.budget import KvType
from engine.llama.cancel import CancelFlag, abort_callback_address
from engine.llama.context_settings import ContextSettings, context_params
from engine.llama.load_errors import context_error
from engine.llama.log import LogRecord
from engine.llama.model import Model


class Opened(NamedTuple):
    """llama.cpp's handle, which is the caller's to free, and whether the context uses flash attention."""

    pointer: Any
    uses_flash_attention: bool


class Beside(NamedTuple):
    """The target's context that a drafter's is made beside, for those that look into it (`ctx_other`)."""

    pointer: Any
    uses_flash_attention: bool


def open_context(
    model: Model,
    settings: ContextSettings,
    n_ctx: int,
    cancel: CancelFlag,
    *,
    beside: Beside | None = None,
    is_mtp: bool = False,
) -> Opened:
    """Make a context of `model` whose passes `cancel` breaks off.

    `beside`: it may look into that one. `is_mtp`: for the model's MTP heads instead of its trunk, with the same kind of
    attention as `beside`, whose cells it may share. Raises LoadFailed or KvTypeUnfit.
    """
    params = context_params(settings, n_ctx)
    params.abort_callback = ctypes.cast(abort_callback_address(), api.ggml_abort_callback)
    params.abort_callback_data = cancel.callback_data
    if beside is not None:
        params.ctx_other = ctypes.cast(beside.pointer, ctypes.c_void_p)
    matched = is_mtp and beside is not None and beside.uses_flash_attention
    if is_mtp:
        use_heads(params, with_flash_attention=matched)
    with model.library.log.recording() as record:
        pointer = api.llama_init_from_model(model.pointer, params)
    if not pointer:
        raise context_error(n_ctx, record)
    return Opened(pointer, matched or found_flash_attention(settings, record))


def use_heads(params: Any, *, with_flash_attention: bool) -> None:
    """Have `params` make a context for MTP heads instead of the trunk, with the target's kind of attention.

    Cells are stored in another order without flash attention: a reader of the target's must agree (llama.cpp #24040).
    """
    params.ctx_type = api.LLAMA_CONTEXT_TYPE_MTP
    on, off = api.LLAMA_FLASH_ATTN_TYPE_ENABLED, api.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.flash_attn_type = on if with_flash_attention else off


def found_flash_attention(settings: ContextSettings, record: LogRecord) -> bool:
    """Return whether a context that was made while `record` was kept uses flash attention."""
    # Where it has to be on llama.cpp does not look whether it can be, and says nothing more about it.
    forced = settings.kv_type is not KvType.F16
    return forced or bool(record.find("Flash Attention enabled"))
