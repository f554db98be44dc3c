"""One worker process seen from its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from engine.worker.child import WorkerChild
from engine.worker.death import describe_death
from engine.worker.messages import Ping, Pong, Ready, Shutdown
from engine.worker.process import EXIT_CANNOT_START
from engine.worker.wire import decode_events
from tests.engine.worker.pretend import run_pretend_worker

PATIENCE_S = 20.0
ROOT = Path(__file__).parents[3]


def next_event(child: WorkerChild) -> object:
    assert child.events.poll(PATIENCE_S)
    (event,) = decode_events(child.events.recv_bytes())
    return event


def test_a_worker_is_ready_answers_and_ends_when_asked() -> None:
    child = WorkerChild(run_pretend_worker)
    assert next_event(child) == Ready(child.pid, "pretend")
    child.send(Ping(5))
    assert next_event(child) == Pong(5, 0.0)
    child.send(Shutdown())
    assert child.wait(PATIENCE_S)
    assert child.exit_code() == 0
    child.close()


def test_a_worker_works_where_no_file_can_be_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    child = WorkerChild(run_pretend_worker)
    assert next_event(child) == Ready(child.pid, "pretend")
    child.kill()
    assert child.exit_code() == -signal.SIGKILL
    assert child.last_words() == ""
    child.close()


@pytest.mark.parametrize(
    ("exit_code", "last_words", "fragment"),
    [
        (-9, "", "signal 9"),
        (-signal.SIGILL, "", "SIGILL"),
        (-200, "", "signal 200"),
        (3, "", "exit code 3"),
        (-6, "x.c:1: GGML_ASSERT(a == b) failed\nmore", "GGML_ASSERT(a == b) failed"),
        (-6, "ggml-rpc.cpp:569: Remote RPC server crashed or returned malformed response", "other computer"),
        (EXIT_CANNOT_START, "Traceback\nOSError: no libllama", "OSError: no libllama"),
        (EXIT_CANNOT_START, "", "no reason"),
    ],
)
def test_an_end_is_described_in_words(exit_code: int, last_words: str, fragment: str) -> None:
    error = describe_death(exit_code, last_words)
    assert fragment in error.sentence
    assert "\n" not in error.sentence
    assert error.remedy
    assert error.detail == last_words


def test_a_program_that_ends_without_stopping_its_worker_does_not_wait_for_it() -> None:
    """The worker ignores SIGTERM, with which multiprocessing would end it."""
    code = (
        "from engine.worker.child import WorkerChild\n"
        "from tests.engine.worker.pretend import run_pretend_worker\n"
        "if __name__ == '__main__':\n"
        "    child = WorkerChild(run_pretend_worker)\n"
        "    child.events.recv_bytes()\n"
        "    print(child.pid)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True
    )
    assert not psutil.pid_exists(int(ended.stdout))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no process groups with signals")
def test_only_the_parent_ends_a_worker() -> None:
    child = WorkerChild()
    try:
        child.events.recv_bytes()
        for number in (signal.SIGINT, signal.SIGTERM):
            os.kill(child.pid, number)
        assert not child.wait(timeout_s=0.5)
    finally:
        child.close()
