"""Turning what llama.cpp logged about a failed load into a sentence."""

from __future__ import annotations

import re
from typing import Final

from engine.errors import KvTypeUnfit, LoadFailed, NotAModelFile, SlipstreamError
from engine.llama.log import LogRecord
from engine.models.model_file import unknown_architecture

_ARCHITECTURE: Final = re.compile(r"unknown model architecture: '([^']*)'")
_NO_MEMORY: Final = re.compile(
    r"failed to allocate|unable to allocate|out of memory|cannot allocate|bad_alloc", re.IGNORECASE
)
_CUT_SHORT: Final = re.compile(
    r"not within the file bounds|corrupted or incomplete|file is truncated|unexpectedly reached end of file"
)
_DAMAGED: Final = re.compile(
    r"missing tensor|tensor '[^']*' not found|wrong shape|wrong number of tensors|"
    r"key not found in model|invalid gguf|duplicated"
)
# "K cache type q8_0 with block size 32 does not divide n_embd_head_k=80" (src/llama-context.cpp)
_HEAD_UNFIT: Final = re.compile(
    r"cache type (\w+) with block size (\d+) does not divide n_embd_head_[kv]=(\d+)"
)
_NEEDS_FLASH_ATTENTION: Final = re.compile(r"quantized V cache requires flash_attn")


def load_error(name: str, record: LogRecord) -> SlipstreamError:
    """Return the error for a model file called `name` whose load failed while `record` was kept."""
    log = "\n".join(line.text for line in record.lines)
    detail = record.trouble
    match = _ARCHITECTURE.search(log)
    if match is not None:
        return unknown_architecture(name, match[1], detail)
    if _CUT_SHORT.search(log):
        return NotAModelFile(
            f"“{name}” is cut short: some of its weights are not there.",
            remedy="Download it again.",
            detail=detail,
        )
    if _NO_MEMORY.search(log):
        return LoadFailed(
            f"There is not enough memory to load “{name}”.",
            remedy="Close other programs, or choose a smaller model or quantisation.",
            detail=detail,
        )
    if _DAMAGED.search(log):
        return NotAModelFile(
            f"“{name}” does not hold what a model of its kind needs.",
            remedy="Download it again, or choose another conversion of this model.",
            detail=detail,
        )
    return LoadFailed(
        f"llama.cpp could not load “{name}”.",
        remedy="The details say what llama.cpp reported.",
        detail=detail,
    )


def context_error(n_ctx: int, record: LogRecord) -> SlipstreamError:
    """Return the error for a context of `n_ctx` tokens that llama.cpp did not make."""
    detail = record.trouble
    log = "\n".join(line.text for line in record.lines)
    unfit = _HEAD_UNFIT.search(log)
    if unfit is not None or _NEEDS_FLASH_ATTENTION.search(log):
        reason = f": it goes in blocks of {unfit[2]}, the heads have {unfit[3]} numbers" if unfit else ""
        return KvTypeUnfit(
            f"This model's cache cannot be stored as {unfit[1] if unfit else 'anything but f16'}{reason}.",
            remedy="Choose f16 for the cache.",
            detail=detail,
        )
    if _NO_MEMORY.search(log):
        return LoadFailed(
            f"There is not enough memory for a context of {n_ctx} tokens.",
            remedy="Choose a shorter context, or close other programs.",
            detail=detail,
        )
    return LoadFailed("llama.cpp could not make a context for this model.", detail=detail)
