"""What has to be in the environment before llama.cpp is loaded. Imports nothing of it."""

from __future__ import annotations

import os


def prepare_environment() -> None:
    """Set what llama.cpp reads from the environment; to be called before anything imports llama_cpp."""
    # Without it a failed GGML_ASSERT starts gdb or lldb for a backtrace before it aborts (ggml/src/ggml.c),
    # which can take minutes while the person waits for the worker to come back.
    os.environ["GGML_NO_BACKTRACE"] = "1"
