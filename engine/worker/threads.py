"""How many threads llama.cpp gets when the person has not said."""

from __future__ import annotations

import os

import psutil


def default_n_threads() -> int:
    """Return the number of physical cores that this process may use, at least 1.

    A second thread on the same core only makes the others wait: llama.cpp is bound by memory and by its
    barriers.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(psutil.cpu_count(logical=False) or usable, usable))
