"""How much of a device may be taken."""

from __future__ import annotations

from engine.budget.room import (
    APPLE_GPU_RESERVE_BYTES,
    APPLE_SYSTEM_BYTES,
    GPU_RESERVE_BYTES,
    HOST_RESERVE_BYTES,
    has_gpu,
    room_of,
)
from engine.models.description import Device
from tests.engine.budget.straight import MIB, cpu, gpu


def test_every_device_keeps_a_reserve() -> None:
    room = room_of((cpu(8000), gpu(4000)))
    assert room.reserve_bytes == {"CPU": HOST_RESERVE_BYTES, "CUDA0": GPU_RESERVE_BYTES}


def test_the_tightest_device_decides() -> None:
    room = room_of((cpu(8000), gpu(4000)))
    assert room.spare_bytes({"CPU": 7000 * MIB, "CUDA0": 3500 * MIB}) == (500 * MIB, "CUDA0")
    assert room.spare_bytes({"CPU": 8001 * MIB, "CUDA0": 3500 * MIB}) == (-MIB, "CPU")


def test_a_device_that_does_not_say_what_it_has_is_taken_at_its_best() -> None:
    silent = Device("Vulkan0", "a GPU", "gpu", 0, 0)
    assert room_of((cpu(8000), silent)).spare_bytes({"Vulkan0": 1 << 40})[0] > 0
    assert not has_gpu((cpu(8000), silent))


def test_a_device_that_is_full_is_not_one_that_does_not_say() -> None:
    full = Device("CUDA0", "a GPU", "gpu", 0, 8 << 30)
    assert room_of((cpu(8000), full)).spare_bytes({"CUDA0": MIB}) == (-MIB, "CUDA0")


def test_a_macs_gpu_gets_its_working_set_and_leaves_the_system_4_gib() -> None:
    metal = Device("MTL0", "Apple M3", "gpu", 11000 * MIB, 11000 * MIB)
    room = room_of((cpu(14000, total_mib=16384), metal))
    assert room.reserve_bytes["MTL0"] == APPLE_GPU_RESERVE_BYTES
    assert room.spare_bytes({"MTL0": 11001 * MIB}) == (-MIB, "MTL0")
    shared = 16384 * MIB - APPLE_SYSTEM_BYTES
    assert room.spare_bytes({"MTL0": 10000 * MIB, "CPU": 2289 * MIB}) == (shared - 12289 * MIB, "MTL0")


def test_an_integrated_gpu_and_the_processor_share_what_is_free() -> None:
    room = room_of((cpu(8000, total_mib=16000), gpu(12000, "Vulkan0", "igpu")))
    assert room.spare_bytes({"CPU": 1000 * MIB, "Vulkan0": 7001 * MIB}) == (-MIB, "Vulkan0")
