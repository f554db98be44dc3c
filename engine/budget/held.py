"""What this computer has, when what Slipstream itself holds is given back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import psutil

from engine.budget.room import HOST
from engine.models.description import Device

Held = tuple[tuple[str, int], ...]
"""Bytes by device that a worker holds for what is loaded, and gives back before it loads something else."""


def held_by(pid: int, memory_bytes: Mapping[str, int]) -> Held:
    """Return what the worker `pid` holds; `memory_bytes` is its own account, by device name.

    Of main memory only what is not the file's pages counts: those are taken for available already.
    """
    own_bytes = _own_bytes(pid)
    return tuple((name, own_bytes if name == HOST else n_bytes) for name, n_bytes in memory_bytes.items())


def given_back(devices: Sequence[Device], held: Held) -> tuple[Device, ...]:
    """Return `devices` as they are when `held` is free again."""
    back = dict(held)
    return tuple(
        msgspec.structs.replace(
            device,
            memory_free_bytes=min(
                device.memory_free_bytes + back.get(device.name, 0),
                device.memory_total_bytes or device.memory_free_bytes,
            ),
        )
        for device in devices
    )


def _own_bytes(pid: int) -> int:
    """Return the memory of a process that no file stands behind; 0 if it has ended."""
    try:
        process = psutil.Process(pid)
        memory = process.memory_info()
        # Linux: shared counts pages of files. Elsewhere the unique set is what ends with the process.
        shared = getattr(memory, "shared", None)
        return int(memory.rss - shared) if shared is not None else int(process.memory_full_info().uss)
    except psutil.Error:
        return 0


def main_memory() -> Device:
    """Return main memory as the operating system tells it, for when llama.cpp cannot be asked for its devices."""
    memory = psutil.virtual_memory()
    return Device(HOST, "", "cpu", int(memory.available), int(memory.total))
