"""A running worker seen from its parent: the process, its two pipes and the log of its last words."""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import queue
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import BinaryIO

from engine.worker.messages import Command
from engine.worker.process import run_worker
from engine.worker.wire import encode_command

WorkerEntry = Callable[[Connection, Connection, str], None]

_LAST_WORDS_BYTES = 16_384


class WorkerChild:
    """One worker process. `events` and `sentinel` can be waited for with multiprocessing.connection.wait.

    Commands are written by a thread of their own, so that `send` returns at once even when the worker is
    stopped and the pipe is full.
    """

    def __init__(self, entry: WorkerEntry = run_worker) -> None:
        context = multiprocessing.get_context("spawn")
        command_reader, self._commands = context.Pipe(duplex=False)
        self.events, event_writer = context.Pipe(duplex=False)
        self._log, self._log_path = _open_log()
        self._process = context.Process(
            target=entry,
            args=(command_reader, event_writer, str(self._log_path or os.devnull)),
            name="slipstream-worker",
            daemon=True,
        )
        try:
            with _interrupt_blocked():
                self._process.start()
        except OSError:
            self._give_back()
            raise
        finally:
            command_reader.close()
            event_writer.close()
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="worker-outbox", daemon=True)
        self._writer.start()
        # At exit multiprocessing would send SIGTERM, which the worker ignores, and wait for its end.
        atexit.register(self.kill)

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    @property
    def sentinel(self) -> int:
        return self._process.sentinel

    def send(self, command: Command) -> None:
        """Queue `command`; a worker that has ended is noticed through `sentinel`, not here."""
        self.send_encoded(encode_command(command))

    def send_encoded(self, data: bytes) -> None:
        """Queue one encoded command, see `send`."""
        self._outbox.put(data)

    def hide_log_file(self) -> None:
        """Unlink the log file, which both sides hold open by now, so that not even a kill leaves it behind.

        Windows refuses while it is open; there `close` removes it.
        """
        if self._log_path is not None:
            with contextlib.suppress(OSError):
                self._log_path.unlink(missing_ok=True)
                self._log_path = None

    def kill(self) -> None:
        self._process.kill()

    def wait(self, timeout_s: float) -> bool:
        """Return whether the process has ended within `timeout_s`."""
        self._process.join(timeout_s)
        return self._process.exitcode is not None

    def exit_code(self) -> int:
        """Return the exit code of an ended process, -N for signal N."""
        self._process.join()
        return self._process.exitcode or 0

    def last_words(self) -> str:
        """Return the end of what the process wrote to its standard streams."""
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - _LAST_WORDS_BYTES))
        return self._log.read().decode("utf-8", errors="replace").strip()

    def close(self) -> None:
        """Kill the process if it still runs and give back everything it held here."""
        atexit.unregister(self.kill)
        self._process.kill()
        self._process.join()
        self._outbox.put(None)
        self._writer.join()
        self._process.close()
        self._give_back()

    def _give_back(self) -> None:
        self._commands.close()
        self.events.close()
        self._log.close()
        self.hide_log_file()

    def _write(self) -> None:
        # A write to a worker that has ended fails at once, a stuck one when the worker is killed.
        with contextlib.suppress(OSError):
            while (data := self._outbox.get()) is not None:
                self._commands.send_bytes(data)


def _open_log() -> tuple[BinaryIO, Path | None]:
    """Return a new file to read the worker's last words from, and its path; no file where none can be made."""
    try:
        descriptor, path = tempfile.mkstemp(prefix="slipstream-worker-", suffix=".log")
    except OSError:
        return open(os.devnull, "rb"), None
    return os.fdopen(descriptor, "rb"), Path(path)


@contextlib.contextmanager
def _interrupt_blocked() -> Iterator[None]:
    """Start processes with SIGINT and SIGTERM blocked: they may reach the whole group, but only the parent
    decides.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Starting the resource tracker unblocks both in this thread (bpo-33613), so it has to run already.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
