"""A worker whose real process and real protocol loop carry a session without llama.cpp, for tests of
supervision.

What it does with a generation is said by the raw prompt, see `PretendSession`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

from engine.errors import FileGone
from engine.speculation.round import FinishReason, Round
from engine.worker.activity import Activity
from engine.worker.inbox import Job
from engine.worker.loop import serve
from engine.worker.messages import (
    DevicesListed,
    Event,
    Finished,
    Generate,
    LaneFinished,
    ListDevices,
    LoadBundle,
    Loaded,
    LoadedModel,
    Race,
    Ready,
    RoundDone,
    Started,
    Unload,
    Unloaded,
)
from engine.worker.process import leave, redirect_streams


def run_pretend_worker(commands: Connection, events: Connection, log_path: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    redirect_streams(log_path)
    serve(commands, events, PretendSession)
    leave(0)


def run_broken_worker(commands: Connection, events: Connection, log_path: str) -> None:
    """A worker that dies before it is ready."""
    redirect_streams(log_path)
    print("no such library: libllama")
    leave(70)


class PretendSession:
    def __init__(self, emit: Callable[[Event], None], activity: Activity) -> None:
        self.emit = emit
        self.activity = activity
        self.cancel = threading.Event()

    def ready(self) -> Ready:
        return Ready(os.getpid(), "pretend")

    def perform(self, job: Job) -> None:
        with self.activity.step():
            if isinstance(job, LoadBundle):
                self.load(job)
            elif isinstance(job, Generate):
                self.generate(job)
            elif isinstance(job, Unload):
                self.emit(Unloaded(job.job))
            elif isinstance(job, ListDevices):
                self.emit(DevicesListed(job.job, (), "pretend", ""))
            elif isinstance(job, Race):
                self.emit(Finished(job.job))

    def load(self, job: LoadBundle) -> None:
        if job.target == "missing":
            raise FileGone("The file is gone.")
        if job.target == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if job.target == "reload-kills" and os.path.exists(job.drafter.path):
            os.kill(os.getpid(), signal.SIGKILL)
        model = LoadedModel(job.target, job.target, "pretend", 1, 2, 3, 0, 4, 5, True)
        self.emit(Loaded(job.job, model, None, 64, 1, False, (), {}, 0.0))

    def generate(self, job: Generate) -> None:
        self.emit(Started(job.job, 1, 0, 7))
        what, _, count = job.prompt.raw.partition(" ")
        acts: dict[str, Callable[[], object]] = {
            "count": lambda: self.count(job.job, int(count)),
            "abort": _abort,
            "exit": lambda: os._exit(int(count)),
            "raise": lambda: 1 // 0,
            "overflow": lambda: self.emit(Started(job.job, 1 << 65, 0, 7)),
            "freeze": lambda: os.kill(os.getpid(), signal.SIGSTOP),
            "hang": lambda: time.sleep(600),
            "print": lambda: print("noise", flush=True),
        }
        acts[what]()
        self.emit(Finished(job.job))

    def count(self, job: int, n_rounds: int) -> None:
        for i in range(n_rounds):
            if self.cancel.wait(0.005):
                self.emit(LaneFinished(job, 1, FinishReason.CANCELLED))
                return
            self.emit(RoundDone(job, 1, Round(tokens=(i,), pieces=(f"{i} ",), total_s=0.005)))
        self.emit(LaneFinished(job, 1, FinishReason.LENGTH))

    def close(self) -> None:
        sys.stderr.flush()


def _abort() -> None:
    os.write(2, b"/src/ggml/src/ggml.c:1785: GGML_ASSERT(n_tokens <= cparams.n_batch) failed\n")
    os.abort()
