"""What has to be in the environment before llama.cpp is loaded. Imports nothing of it."""

from __future__ import annotations

import os


def prepare_environment() -> None:
    """Set what llama.cpp reads from the environment; to be called before anything imports llama_cpp."""
    # Without it a failed GGML_ASSERT starts gdb or lldb for a backtrace before it aborts (ggml/src/ggml.c),
    # which can take minutes while the person waits for the worker to come back.
    os.environ["GGML_NO_BACKTRACE"] = "1"
    # GNU's OpenMP spins about 300,000 times at each of a pass's hundreds of barriers before a thread sleeps. Where
    # other programs take the cores, the spinning ones keep them from the thread that is waited for, and a token takes
    # seconds. 1,000 is as fast on a quiet computer and up to twice as fast on a busy one (docs/benchmarks.md).
    # Other OpenMP libraries do not read it.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
