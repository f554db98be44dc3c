"""Measuring this computer: how fast each device reads weights, and what a small real model reaches on it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psutil

from engine.errors import Cancelled, LoadFailed, SlipstreamError
from engine.llama.bandwidth import MIN_BYTES, decode_speed, measure_bandwidth
from engine.llama.cancel import CancelFlag
from engine.llama.devices import list_devices
from engine.llama.library import LlamaLibrary
from engine.models.description import Device
from engine.recommend.advice import ComputerSpeed, DeviceSpeed
from engine.shelf.starter import find_starter

_COMPUTING: Final = ("cpu", "gpu", "igpu")
_BANDWIDTH_SHARE: Final = 0.7
_LOOK_S: Final = 0.5
_BUSY_PERCENT: Final = 25.0


def measure_computer(
    library: LlamaLibrary,
    cancel: CancelFlag,
    on_progress: Callable[[str, float], None],
    *,
    size_bytes: int = 0,
) -> ComputerSpeed:
    """Measure every device that can compute; one that fails is left out.

    `on_progress(device, fraction of all)`. `size_bytes` is the size of the model to measure with, 0: chosen by what is
    free. Raises Cancelled, and LoadFailed where no device could be measured.
    """
    was_busy = is_busy()
    devices = [d for d in list_devices() if d.kind in _COMPUTING and d.memory_free_bytes >= 2 * MIN_BYTES]
    speeds: list[DeviceSpeed] = []
    trouble = "no device has memory to spare"
    for index, device in enumerate(devices):

        def tell(fraction: float, index: int = index, name: str = device.name) -> None:
            on_progress(name, (index + fraction) / len(devices))

        try:
            speeds.append(_measure_device(library, device, cancel, tell, size_bytes))
        except Cancelled:
            raise
        except (SlipstreamError, OSError) as error:
            trouble = f"{device.name}: {error}"
    if not speeds:
        raise LoadFailed(
            "This computer's speed could not be measured.",
            remedy="Close other programs to free memory, and try again.",
            detail=trouble,
        )
    return ComputerSpeed(tuple(speeds), was_busy)


def is_busy(look_s: float = _LOOK_S) -> bool:
    """Return whether other programs keep the processors busy: what is measured meanwhile is too low."""
    return psutil.cpu_percent(interval=look_s) > _BUSY_PERCENT


def _measure_device(
    library: LlamaLibrary, device: Device, cancel: CancelFlag, tell: Callable[[float], None], size_bytes: int
) -> DeviceSpeed:
    blank = measure_bandwidth(library, device, cancel, lambda f: tell(f * _BANDWIDTH_SHARE), size_bytes)
    measured = DeviceSpeed(
        device.name, blank.bytes_per_s, measured_at=datetime.now(UTC).isoformat(timespec="seconds")
    )
    starter = find_starter()
    if starter is None:
        return measured
    rest = 1 - _BANDWIDTH_SHARE
    small = decode_speed(
        library, Path(starter.target), device, cancel, lambda f: tell(_BANDWIDTH_SHARE + rest * f)
    )
    return DeviceSpeed(
        measured.device,
        measured.bandwidth_bytes_per_s,
        small.tokens_per_s,
        small.bytes_per_token,
        measured.measured_at,
    )
