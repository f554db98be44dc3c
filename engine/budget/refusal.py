"""Saying that something does not fit, with numbers and with the nearest setting that works."""

from __future__ import annotations

from typing import Final

from engine.budget.budget import Budget, ContextBudget, KvType, Segment
from engine.budget.measures import UseByDevice
from engine.budget.reckoning import raced_bytes
from engine.budget.room import HOST, Room
from engine.errors import ContextTooLarge, LoadFailed

_GIB: Final = 1 << 30


def refusal(found: Budget, wanted: ContextBudget) -> ContextTooLarge | LoadFailed:
    """Return the error for `wanted`, which does not fit.

    `found` answers for the same bundle at the same context, with every cache type that may help.
    """
    use = next(use for use in wanted.devices if use.device == wanted.short_of_device)
    reserve_bytes = use.segments.get(Segment.RESERVE, 0)
    free_bytes = next((d.memory_free_bytes for d in found.devices if d.name == use.device), 0)
    place = "" if use.device == HOST else f" on {use.device}"
    needs = f"needs {_gib(use.total_bytes)}{place}"
    free = f"{_gib(max(free_bytes - reserve_bytes, 0))} are free for it"
    detail = "; ".join(
        f"{each.device}: {', '.join(f'{segment} {n}' for segment, n in each.segments.items())} bytes"
        for each in wanted.devices
    )
    largest = found.largest_fit.get(wanted.kv_type, 0)
    ways = _ways_out(found, wanted)
    if largest == 0:
        ways.append("a smaller model or quantisation")
        return LoadFailed(
            f"This model {needs}, {free}.",
            remedy=f"Close other programs, or choose {_or(ways)}.",
            detail=detail,
        )
    return ContextTooLarge(
        f"This context of {wanted.n_ctx:,} tokens {needs}, {free}. A context of {largest:,} fits.",
        remedy=f"Choose {_or([f'a context of {largest:,} tokens at most', *ways])}.",
        detail=detail,
    )


def require_second_context(taken: UseByDevice, room: Room) -> None:
    """Raise ContextTooLarge unless there is room for the second context of a race beside a first one that has taken
    its part of `taken`.
    """
    needed = {device: raced_bytes(segments) for device, segments in taken.items() if raced_bytes(segments)}
    spare_bytes, device = room.spare_bytes({d: n + room.reserve_bytes.get(d, 0) for d, n in needed.items()})
    if spare_bytes < 0:
        raise ContextTooLarge(
            f"A comparison needs a second cache of {_gib(needed[device])} on {device}; "
            f"{_gib(max(needed[device] + spare_bytes, 0))} are free.",
            remedy="Load the model with a shorter context, or close other programs.",
        )


def _ways_out(found: Budget, wanted: ContextBudget) -> list[str]:
    """Return what makes the wanted context fit, the least loss first."""
    ways = []
    for kv_type in (KvType.Q8_0, KvType.Q4_0):
        other = found.at(wanted.n_ctx, kv_type)
        if kv_type is not wanted.kv_type and other is not None and other.fits:
            ways.append(f"{kv_type} for the cache")
            break
    if wanted.short_of_device != HOST and (found.n_gpu_layers_that_fit or 0) > 0:
        ways.append(f"{found.n_gpu_layers_that_fit} layers on the GPU")
    choice = found.speed_or_context
    if choice is not None and choice.n_ctx_without_drafter >= wanted.n_ctx:
        ways.append("no drafter")
    return ways


def _or(ways: list[str]) -> str:
    return ways[0] if len(ways) == 1 else f"{', '.join(ways[:-1])} or {ways[-1]}"


def _gib(n_bytes: int) -> str:
    return f"{n_bytes / _GIB:.1f} GiB"
