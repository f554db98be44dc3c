"""How fast a bundle is likely to be here. Decoding is reading: a token takes as long as its bytes take to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engine.models.bundle import DrafterKind
from engine.models.catalogue import MeasuredSpeedup
from engine.models.description import Device
from engine.recommend.advice import ComputerSpeed, DeviceSpeed, SpeedRange

UNCALIBRATED_SHARE: Final = 0.6
"""What is surely reached of the bandwidth where no real model was measured."""
NARROWEST_SHARE: Final = 0.85
"""No forecast is more certain than this: its lower end over its upper one."""
_LEAST_EFFICIENCY: Final = 0.3
_LAYERS_OVER_SMALL: Final = 2
"""A large model has about twice the layers of the small one, and each costs its launches anew."""

Factors = tuple[float, float]
_NGRAM_FACTORS: Final[Factors] = (1.0, 1.2)
_DRAFTER_FACTORS: Final[Factors] = (1.0, 1.5)
"""Where nobody has measured a pair on this kind of device; drafting that loses is turned off."""


@dataclass(frozen=True, slots=True)
class TokenCost:
    """The bytes that one token reads: weights (of a mixture of experts the active ones), and cache."""

    weights_bytes: int
    kv_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        return self.weights_bytes + self.kv_bytes


def plain_forecast(
    cost: TokenCost, shares: Mapping[str, float], speed: ComputerSpeed, devices: Sequence[Device]
) -> SpeedRange | None:
    """Return the tokens per second without speculation, None where a device in `shares` was not measured.

    `shares` of the layers by device: each reads its share, one after the other. The upper end is bandwidth alone, the
    lower one what a small real model showed to be lost on top.
    """
    measured = {device.device: device for device in speed.devices}
    is_cpu = {device.name: device.kind == "cpu" for device in devices}
    used = {name: share for name, share in shares.items() if share > 0}
    if not used or cost.total_bytes <= 0 or not all(_is_usable(measured.get(name)) for name in used):
        return None
    fast_s = slow_s = 0.0
    for name, share in used.items():
        read_s = share * cost.total_bytes / measured[name].bandwidth_bytes_per_s
        fast_s += read_s
        slow_s += _slow_s(read_s, share, measured[name], is_cpu=is_cpu.get(name, False))
    return SpeedRange(min(1 / slow_s, NARROWEST_SHARE / fast_s), 1 / fast_s)


def _is_usable(device: DeviceSpeed | None) -> bool:
    return device is not None and device.bandwidth_bytes_per_s > 0


def _slow_s(read_s: float, share: float, device: DeviceSpeed, *, is_cpu: bool) -> float:
    """Return how long reading that takes `read_s` at best may take.

    A processor loses a share of its time to arithmetic; a GPU a fixed time to each layer's launches.
    """
    if device.small_model_tokens_per_s <= 0 or device.small_model_bytes <= 0:
        return read_s / UNCALIBRATED_SHARE
    small_s = 1 / device.small_model_tokens_per_s
    small_read_s = device.small_model_bytes / device.bandwidth_bytes_per_s
    if is_cpu:
        return read_s / min(max(small_read_s / small_s, _LEAST_EFFICIENCY), 1.0)
    return read_s + share * _LAYERS_OVER_SMALL * max(small_s - small_read_s, 0.0)


def speculative_forecast(
    plain: SpeedRange, kind: DrafterKind, speedups: Sequence[MeasuredSpeedup], device_kind: str
) -> SpeedRange | None:
    """Return the tokens per second with speculation: `plain` times what was measured on this kind of device.

    None without a drafter.
    """
    if kind is DrafterKind.NONE:
        return None
    low, high = factors(kind, speedups, device_kind)
    return SpeedRange(plain.low_tokens_per_s * low, plain.high_tokens_per_s * high)


def factors(kind: DrafterKind, speedups: Sequence[MeasuredSpeedup], device_kind: str) -> Factors:
    """Return the least and the most that drafting may make of plain decoding."""
    if kind is DrafterKind.NGRAM:
        return _NGRAM_FACTORS
    here = [speedup for speedup in speedups if speedup.device_kind == device_kind]
    if not here:
        return _DRAFTER_FACTORS
    return min(speedup.low for speedup in here), max(speedup.high for speedup in here)


def device_kind_of(devices: Sequence[Device]) -> str:
    """Return what the catalogue calls this kind of computer: "gpu", "apple", "igpu" or "cpu"."""
    kinds = {device.kind for device in devices}
    if any(device.is_apple_gpu for device in devices):
        return "apple"
    return next((kind for kind in ("gpu", "igpu") if kind in kinds), "cpu")
