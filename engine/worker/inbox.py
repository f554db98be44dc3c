"""The worker's ear: a thread that reads commands while llama.cpp works."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Protocol

from engine.worker.activity import Activity
from engine.worker.messages import (
    Cancel,
    Event,
    Generate,
    ListDevices,
    LoadBundle,
    MeasureBudget,
    MeasureDevices,
    Ping,
    Pong,
    Race,
    Shutdown,
    Unload,
)
from engine.worker.wire import decode_command

Job = LoadBundle | Unload | Generate | Race | ListDevices | MeasureBudget | MeasureDevices


class Flag(Protocol):
    """What cancels a job; llama.cpp polls it during a pass."""

    def set(self) -> None: ...

    def clear(self) -> None: ...


class Inbox:
    """Jobs in the order in which they came, and the flag that cancels the one that runs.

    `on_end` is called on the reading thread when the parent is gone (False) or has asked for the end (True).
    """

    def __init__(
        self,
        commands: Connection,
        emit: Callable[[Event], None],
        cancel: Flag,
        activity: Activity,
        on_end: Callable[[bool], None],
    ) -> None:
        self._commands = commands
        self._emit = emit
        self._cancel = cancel
        self._activity = activity
        self._on_end = on_end
        self._changed = threading.Condition()
        self._jobs: collections.deque[Job] = collections.deque()
        self._cancelled: set[int] = set()
        self._running = 0
        self._ended = False
        self._thread = threading.Thread(target=self._read, name="inbox", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def next_job(self) -> Job | None:
        """Wait for the next job and make it the running one; None when the worker is to end."""
        with self._changed:
            self._running = 0
            self._changed.wait_for(lambda: self._jobs or self._ended)
            if self._ended:
                return None
            job = self._jobs.popleft()
            self._running = job.job
            self._cancel.clear()
            if job.job in self._cancelled:
                self._cancelled.discard(job.job)
                self._cancel.set()
            return job

    def _read(self) -> None:
        try:
            while True:
                command = decode_command(self._commands.recv_bytes())
                if isinstance(command, Ping):
                    self._emit(Pong(command.n, self._activity.running_s()))
                elif isinstance(command, Cancel):
                    self._cancel_job(command.job)
                elif isinstance(command, Shutdown):
                    self._end()
                    return
                else:
                    self._add(command)
        except (EOFError, OSError):
            self._on_end(False)

    def _add(self, job: Job) -> None:
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()

    def _cancel_job(self, job: int) -> None:
        with self._changed:
            if job == self._running:
                self._cancel.set()
            elif any(waiting.job == job for waiting in self._jobs):
                self._cancelled.add(job)

    def _end(self) -> None:
        with self._changed:
            self._ended = True
            self._cancel.set()
            self._changed.notify()
        self._on_end(True)
