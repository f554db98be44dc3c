"""Refusing what does not fit into memory before it is loaded, with numbers and with what would fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.errors import ContextTooLarge, LoadFailed
from engine.llama.context_settings import ContextSettings, refuse_beyond_model
from engine.llama.library import LlamaLibrary
from engine.llama.memory import HOST, MemoryByDevice, add_up, forecast
from engine.models.description import Device
from engine.models.gguf_header import GgufHeader, read_header

SPARE_BYTES: Final = 256 << 20
"""Left free on every device, for everything that no account covers."""
CTX_STEP: Final = 256
_GIB: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """A model to be loaded with a context on it; `settings.n_ctx` is not looked at."""

    path: Path
    settings: ContextSettings


def require_fit(
    library: LlamaLibrary,
    plans: Sequence[LoadPlan],
    n_ctx: int,
    n_gpu_layers: int,
    devices: Sequence[Device],
) -> None:
    """Raise unless all `plans`, the target's first, fit into `devices` with contexts of `n_ctx` tokens.

    Raises ContextTooLarge with the nearest context that fits, or LoadFailed if the weights alone do not.
    Where all of it is certainly small the models are not even opened: llama.cpp needs most of a second to
    measure one.
    """
    headers = [read_header(plan.path) for plan in plans]
    refuse_beyond_model(n_ctx, _limit(headers[0]))
    free = {device.name: device.memory_free_bytes for device in devices if device.memory_free_bytes > 0}
    if _is_certainly_small(headers, n_ctx, devices):
        return
    with ExitStack() as stack:
        models = [stack.enter_context(forecast(library, plan.path, n_gpu_layers)) for plan in plans]

        def need(tokens: int) -> MemoryByDevice:
            # A draft model that looks back less far than its target gets a context of what it can.
            return add_up(
                model.measure(plan.settings, min(tokens, _limit(header) or tokens))
                for model, plan, header in zip(models, plans, headers, strict=True)
            )

        wanted = need(n_ctx)
        short = _first_short(wanted, free)
        if short is None:
            return
        best = _largest_fit(need, free, n_ctx)
    raise _refusal(wanted, free, short, n_ctx, best)


def _limit(header: GgufHeader) -> int:
    """Return how many tokens the model can look back, 0 if it does not say."""
    return header.number(f"{header.architecture}.context_length")


def _is_certainly_small(headers: Sequence[GgufHeader], n_ctx: int, devices: Sequence[Device]) -> bool:
    """Whether an upper bound of everything is under half of what is free, on a computer without a GPU."""
    if any(device.kind != "cpu" for device in devices) or not devices:
        return False
    bound = 0
    for header in headers:
        bound += 2 * header.file_bytes + _kv_bound(header, n_ctx) + (512 << 20)
    return bound < devices[0].memory_free_bytes // 2


def _kv_bound(header: GgufHeader, n_ctx: int) -> int:
    """Return more than any attention cache in 16 bits takes: keys and values of every head in every layer."""
    prefix = header.architecture
    heads = header.metadata.get(f"{prefix}.attention.head_count")
    n_heads = max((h for h in heads if isinstance(h, int)), default=1) if isinstance(heads, tuple) else heads
    width = max(
        header.number(f"{prefix}.embedding_length"),
        (n_heads if isinstance(n_heads, int) else 1)
        * max(
            header.number(f"{prefix}.attention.key_length"), header.number(f"{prefix}.attention.value_length")
        ),
    )
    return n_ctx * header.number(f"{prefix}.block_count") * width * 2 * 2


def _first_short(need: MemoryByDevice, free: Mapping[str, int]) -> str | None:
    """Return the first device that has too little; one that does not say what it has is taken at its best."""
    for device, use in need.items():
        if device in free and use.total_bytes > free[device] - SPARE_BYTES:
            return device
    return None


def _largest_fit(need: Callable[[int], MemoryByDevice], free: Mapping[str, int], too_many: int) -> int:
    """Return the largest context under `too_many` that fits, in steps; 0 if none does."""
    low, high = 0, -(-too_many // CTX_STEP)
    while high - low > 1:
        middle = (low + high) // 2
        if _first_short(need(middle * CTX_STEP), free) is None:
            low = middle
        else:
            high = middle
    return low * CTX_STEP


def _refusal(
    need: MemoryByDevice, free: Mapping[str, int], device: str, n_ctx: int, best: int
) -> ContextTooLarge | LoadFailed:
    place = "" if device == HOST else f" on {device}"
    usable = _gib(max(free[device] - SPARE_BYTES, 0))
    detail = "; ".join(
        f"{name}: weights {use.weights_bytes}, cache {use.kv_bytes}, compute {use.compute_bytes}, "
        f"free {free.get(name)} bytes"
        for name, use in need.items()
    )
    if best == 0:
        return LoadFailed(
            f"This model needs {_gib(need[device].total_bytes)}{place}, {usable} are free for it.",
            remedy="Close other programs, or choose a smaller model or quantisation.",
            detail=detail,
        )
    return ContextTooLarge(
        f"This context of {n_ctx:,} tokens needs {_gib(need[device].total_bytes)}{place}, "
        f"{usable} are free for it. A context of {best:,} fits.",
        remedy=f"Choose a context of {best:,} tokens or less.",
        detail=detail,
    )


def _gib(n_bytes: int) -> str:
    return f"{n_bytes / _GIB:.1f} GiB"
