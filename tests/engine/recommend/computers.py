"""Computers and bundles to give advice about, without files."""

from __future__ import annotations

from engine.models.bundle import DrafterKind
from engine.models.catalogue import MeasuredSpeedup
from engine.models.description import Device
from engine.recommend.advice import ComputerSpeed, DeviceSpeed
from engine.recommend.advise import Computer
from engine.recommend.subject import Subject

GIB = 1 << 30
SMALL_BYTES = 98_000_000


def cpu(free_gib: float, total_gib: float = 0) -> Device:
    total = total_gib or free_gib + 2
    return Device("CPU", "a processor", "cpu", int(free_gib * GIB), int(total * GIB))


def gpu(free_gib: float, name: str = "CUDA0") -> Device:
    return Device(name, "a GPU", "gpu", int(free_gib * GIB), int(free_gib * GIB) + GIB)


def computer(*devices: Device, cpu_gb_per_s: float = 40, gpu_gb_per_s: float = 400) -> Computer:
    """Return a computer that was measured."""
    speeds = (
        DeviceSpeed(
            device.name,
            (cpu_gb_per_s if device.kind == "cpu" else gpu_gb_per_s) * 1e9,
            small_model_tokens_per_s=200 if device.kind == "cpu" else 500,
            small_model_bytes=SMALL_BYTES,
        )
        for device in devices
    )
    return Computer(devices, ComputerSpeed(tuple(speeds)))


def subject(
    name: str,
    weights_gib: float,
    *,
    params_b: float = 0,
    active_fraction: float = 1.0,
    kv_bytes_per_token: int = 100_000,
    n_ctx_train: int = 131072,
    kind: DrafterKind = DrafterKind.NGRAM,
    speedups: tuple[MeasuredSpeedup, ...] = (),
    is_known: bool = True,
) -> Subject:
    weights_bytes = int(weights_gib * GIB)
    n_params = int((params_b or weights_gib * 1.8) * 1e9)
    return Subject(
        id=name,
        name=name,
        family=name,
        n_params=n_params,
        active_params=int(n_params * active_fraction),
        n_ctx_train=n_ctx_train,
        drafter_kind=kind,
        file_bytes=weights_bytes,
        target_bytes=weights_bytes,
        read_bytes=int(weights_bytes * active_fraction),
        kv_bytes_per_token=kv_bytes_per_token,
        total_bytes=(lambda n_ctx: weights_bytes + n_ctx * kv_bytes_per_token + (100 << 20))
        if is_known
        else None,
        speedups=speedups,
    )
