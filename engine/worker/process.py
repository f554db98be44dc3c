"""The worker process: what happens from its first instruction to its last.

Nothing here imports llama.cpp or anything heavy before the standard streams are redirected and the
environment is set.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from multiprocessing.connection import Connection

# What the operating system reports when the worker could not even begin.
EXIT_CANNOT_START = 70


def run_worker(commands: Connection, events: Connection, log_path: str) -> None:
    """Serve `commands` until Shutdown or until the parent is gone; never returns.

    Standard output and error go to the file at `log_path`, where the parent finds what an abort printed.
    """
    # Both reach a whole process group (Ctrl-C, a closing terminal, systemd); only the parent decides.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    redirect_streams(log_path)
    try:
        from engine.llama.environment import prepare_environment

        prepare_environment()
        from engine.worker.loop import serve
        from engine.worker.session import open_session

        serve(commands, events, open_session)
    except BaseException:  # noqa: BLE001 - the last frame of the process: the log is all that remains
        traceback.print_exc()
        leave(EXIT_CANNOT_START)
    leave(0)


def redirect_streams(log_path: str) -> None:
    """Send file descriptors 1 and 2 to the file at `log_path`, natively printed lines included."""
    log = os.open(log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    # A windowed program has no streams at all; Python's own tracebacks shall reach the log there too.
    stream = os.fdopen(2, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)
    sys.stdout = sys.stderr = stream


def leave(code: int) -> None:
    """End the process without finalisers: native libraries may assert in theirs, a pass may be running."""
    with contextlib.suppress(OSError, ValueError):  # a full disk must not keep the process
        sys.stderr.flush()
    os._exit(code)
