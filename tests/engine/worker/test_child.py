"""One worker process seen from its parent."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from engine.worker.child import WorkerChild
from engine.worker.death import describe_death
from engine.worker.messages import Ping, Pong, Ready, Shutdown, decode_events
from engine.worker.process import EXIT_CANNOT_START
from tests.engine.worker.pretend import run_pretend_worker

PATIENCE_S = 20.0


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
