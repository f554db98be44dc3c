"""Tables, medians and a line about the machine."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from importlib.metadata import version

import psutil


def machine_line() -> str:
    """Say what the machine is and what it is doing, since figures mean nothing without it."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"
    return (
        f"{platform.system()} {platform.machine()}, {psutil.cpu_count(logical=False)} cores "
        f"({psutil.cpu_count()} threads), {psutil.virtual_memory().total / 2**30:.0f} GiB; load {load}; "
        f"llama-cpp-python {version('llama-cpp-python')}"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Return "median (min to max)"."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def geometric_mean(values: Sequence[float]) -> float:
    return statistics.geometric_mean(values)
