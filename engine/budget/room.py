"""How much of each device may be taken, and whether something fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engine.models.description import Device

HOST: Final = "CPU"
"""ggml's name for main memory."""
_MIB: Final = 1 << 20
HOST_RESERVE_BYTES: Final = 256 * _MIB
GPU_RESERVE_BYTES: Final = 512 * _MIB
"""Drivers allocate beside the buffers that ggml asks for."""
APPLE_GPU_RESERVE_BYTES: Final = 1024 * _MIB
APPLE_SYSTEM_BYTES: Final = 4096 * _MIB
"""What macOS and other programs need of a Mac's memory, which its GPU shares."""


@dataclass(frozen=True, slots=True)
class Room:
    """What there is. `free_bytes` and `reserve_bytes` by device; a device that does not say is not in `free_bytes`.

    Devices of `shared` live in main memory: together with the CPU they get `shared_bytes` at most.
    """

    free_bytes: Mapping[str, int]
    reserve_bytes: Mapping[str, int]
    shared: frozenset[str] = frozenset()
    shared_bytes: int = 0

    def spare_bytes(self, taken: Mapping[str, int]) -> tuple[int, str]:
        """Return the least that is left of any device after `taken` (reserve included), and which device that is.

        Negative: it does not fit.
        """
        left = [(self.free_bytes[name] - n, name) for name, n in taken.items() if name in self.free_bytes]
        if self.shared and self.shared_bytes:
            together = sum(n for name, n in taken.items() if name in self.shared or name == HOST)
            on_gpu = max((n, name) for name, n in taken.items()) if taken else (0, HOST)
            left.append((self.shared_bytes - together, on_gpu[1]))
        return min(left, default=(1 << 62, ""))


def room_of(devices: Sequence[Device]) -> Room:
    """Return what `devices` have to give. 0 bytes of memory: not known, taken at its best."""
    free = {device.name: device.memory_free_bytes for device in devices if device.memory_total_bytes > 0}
    main = next((device for device in devices if device.kind == "cpu"), None)
    shared = frozenset(device.name for device in devices if _shares_main_memory(device))
    apple = any(device.is_apple_gpu for device in devices)
    shared_bytes = 0
    if main is not None and main.memory_total_bytes and shared:
        system_bytes = APPLE_SYSTEM_BYTES if apple else 0
        shared_bytes = min(main.memory_free_bytes, max(main.memory_total_bytes - system_bytes, 0))
    return Room(free, {device.name: _reserve_bytes(device) for device in devices}, shared, shared_bytes)


def has_gpu(devices: Sequence[Device]) -> bool:
    """Whether layers can be put on something that is not the CPU and says how much memory it has."""
    return any(device.kind in ("gpu", "igpu") and device.memory_total_bytes > 0 for device in devices)


def _reserve_bytes(device: Device) -> int:
    if device.kind == "cpu":
        return HOST_RESERVE_BYTES
    return APPLE_GPU_RESERVE_BYTES if device.is_apple_gpu else GPU_RESERVE_BYTES


def _shares_main_memory(device: Device) -> bool:
    return device.kind == "igpu" or device.is_apple_gpu
