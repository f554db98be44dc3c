"""Where a bundle's layers go on this computer, and whether they all find room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engine.budget.room import room_of
from engine.models.description import Device
from engine.recommend.advice import Fit

TIGHT_SHARE: Final = 0.9
"""A bundle that takes more than this of what can be had is tight."""
_GPU_KINDS: Final = ("gpu", "igpu")


@dataclass(frozen=True, slots=True)
class Capacity:
    """Bytes that a bundle may take: on the GPUs by name, in main memory (by the processor's name), and in both."""

    gpu_bytes: Mapping[str, int]
    host: str
    host_bytes: int
    all_bytes: int

    @property
    def all_gpu_bytes(self) -> int:
        return sum(self.gpu_bytes.values())

    @property
    def best_bytes(self) -> int:
        """Return how much can be had where it is fast: on the GPUs if there are any."""
        return self.all_gpu_bytes or self.host_bytes


@dataclass(frozen=True, slots=True)
class Placement:
    """`shares` of a bundle's layers by device name, 1 in all; {} where it does not fit."""

    fit: Fit
    shares: Mapping[str, float]


def capacity_of(devices: Sequence[Device]) -> Capacity:
    """Return what `devices` have to give after the reserve that each keeps.

    Integrated GPUs and Apple's live in main memory: what they take is missing there.
    """
    room = room_of(devices)
    usable = {
        device.name: max(room.free_bytes[device.name] - room.reserve_bytes.get(device.name, 0), 0)
        for device in devices
        if device.name in room.free_bytes
    }
    host = next((device.name for device in devices if device.kind == "cpu"), "")
    gpus = {d.name: usable[d.name] for d in devices if d.kind in _GPU_KINDS and usable.get(d.name, 0) > 0}
    host_bytes = usable.get(host, 0)
    if room.shared and room.shared_bytes:
        reserve_bytes = room.reserve_bytes.get(host, 0)
        together = max(room.shared_bytes - reserve_bytes, 0)
        gpus = {name: min(n, together) if name in room.shared else n for name, n in gpus.items()}
        host_bytes = min(host_bytes, together)
        discrete = sum(n for name, n in gpus.items() if name not in room.shared)
        return Capacity(gpus, host, host_bytes, together + discrete)
    return Capacity(gpus, host, host_bytes, sum(gpus.values()) + host_bytes)


def place(total_bytes: int, capacity: Capacity) -> Placement:
    """Return where a bundle that takes `total_bytes` goes: on the GPUs as far as they reach."""
    if total_bytes > capacity.all_bytes:
        return Placement(Fit.DOES_NOT_FIT, {})
    on_gpu = min(total_bytes, capacity.all_gpu_bytes)
    shares = {
        name: on_gpu * n / capacity.all_gpu_bytes / total_bytes for name, n in capacity.gpu_bytes.items()
    }
    if on_gpu < total_bytes:
        shares[capacity.host] = 1 - on_gpu / total_bytes
    if capacity.gpu_bytes and on_gpu < total_bytes:
        return Placement(Fit.PARTLY_ON_CPU, shares)
    is_tight = total_bytes > TIGHT_SHARE * capacity.best_bytes
    return Placement(Fit.TIGHT if is_tight else Fit.FITS, shares)
