"""The compute devices that ggml knows, and how much memory this process may really use."""

from __future__ import annotations

import ctypes
import platform
from pathlib import Path
from typing import Final

import psutil

from engine.llama.library import find_symbol
from engine.models.description import Device

_KINDS: Final = {0: "cpu", 1: "gpu", 2: "igpu", 3: "accel", 4: "meta"}  # enum ggml_backend_dev_type
_CGROUP: Final = Path("/sys/fs/cgroup")
# (limit, used, what of) in cgroup v2 and v1. No limit is "max" in v2 and a number near 2^63 in v1.
_CGROUP_FILES: Final = (
    ("memory.max", "memory.current", "memory.stat"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
)
# Pages of files count as used, but the kernel drops them before it refuses memory.
_FILE_CACHE: Final = ("inactive_file", "active_file")


def list_devices() -> tuple[Device, ...]:
    """Return ggml's devices in ggml's order; () if this build does not tell."""
    size, pointer, text = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p
    count = find_symbol("ggml_backend_dev_count", size)
    get = find_symbol("ggml_backend_dev_get", pointer, size)
    name = find_symbol("ggml_backend_dev_name", text, pointer)
    description = find_symbol("ggml_backend_dev_description", text, pointer)
    kind_of = find_symbol("ggml_backend_dev_type", ctypes.c_int, pointer)
    memory = find_symbol("ggml_backend_dev_memory", None, pointer, ctypes.POINTER(size), ctypes.POINTER(size))
    if not (count and get and name and description and kind_of and memory):
        return ()
    devices = []
    for index in range(count()):
        handle = get(index)
        kind = _KINDS.get(kind_of(handle), "meta")
        free, total = size(0), size(0)
        memory(handle, ctypes.byref(free), ctypes.byref(total))
        free_bytes, total_bytes = host_memory() if kind == "cpu" else (free.value, total.value)
        devices.append(Device(_text(name(handle)), _text(description(handle)), kind, free_bytes, total_bytes))
    return tuple(devices)


def host_memory(cgroup: Path = _CGROUP) -> tuple[int, int]:
    """Return the bytes of main memory that are free for this process, and all it may ever have.

    A container's limit counts where it is below what the computer has. ggml reports the computer's total as
    free.
    """
    memory = psutil.virtual_memory()
    free, total = int(memory.available), int(memory.total)
    for limit_name, used_name, stat_name in _CGROUP_FILES:
        limit, used = _number(cgroup / limit_name), _number(cgroup / used_name) or 0
        if limit is not None and limit < total:
            total = limit
            taken = max(used - _file_cache_bytes(cgroup / stat_name), 0)
            free = min(free, max(limit - taken, 0))
    return free, total


def default_threads() -> int:
    """Return how many threads to compute with: one per physical core that this process may run on.

    On Apple's chips only the fast cores count: every step of a pass waits for the slowest thread
    (common/common.cpp, cpu_get_num_physical_cores).
    """
    physical = _fast_apple_cores() or psutil.cpu_count(logical=False) or 1
    return max(1, min(physical, usable_cpus()))


def _fast_apple_cores() -> int:
    """Return the number of performance cores, 0 where there is no such thing."""
    if platform.system() != "Darwin":
        return 0
    value, size = ctypes.c_int(0), ctypes.c_size_t(ctypes.sizeof(ctypes.c_int))
    ask = ctypes.CDLL(None).sysctlbyname
    failed = ask(
        b"hw.perflevel0.physicalcpu", ctypes.byref(value), ctypes.byref(size), None, ctypes.c_size_t(0)
    )
    return 0 if failed else value.value


def usable_cpus() -> int:
    """Return how many logical processors this process may run on."""
    process = psutil.Process()
    if not hasattr(process, "cpu_affinity"):  # macOS has none
        return psutil.cpu_count() or 1
    return len(process.cpu_affinity() or ()) or 1


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text().strip())
    except (OSError, ValueError):
        return None


def _file_cache_bytes(path: Path) -> int:
    try:
        rows = [line.split() for line in path.read_text().splitlines()]
        return sum(int(row[1]) for row in rows if len(row) == 2 and row[0] in _FILE_CACHE)
    except (OSError, ValueError):
        return 0


def _text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", errors="replace")
