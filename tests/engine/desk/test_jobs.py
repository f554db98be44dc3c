from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator

import pytest

from engine.desk.jobs import CancelToken, JobRunner, Work
from engine.errors import FileGone
from engine.models_events import FoldersChanged, ModelsEvent, ModelsFailed

WAIT_S = 10.0


@pytest.fixture
def events() -> queue.SimpleQueue[ModelsEvent]:
    return queue.SimpleQueue()


@pytest.fixture
def runner(events: queue.SimpleQueue[ModelsEvent]) -> Iterator[JobRunner]:
    runner = JobRunner(events.put, n_threads=2)
    runner.start()
    yield runner
    runner.stop(WAIT_S)


def ends_with(*folders: str) -> Work:
    return lambda job, _token: FoldersChanged(job, folders)


def fails(error: Exception) -> Work:
    def work(_job: int, _token: CancelToken) -> ModelsEvent:
        raise error

    return work


def waits_for(gate: threading.Event) -> Callable[[int, CancelToken], ModelsEvent]:
    def work(job: int, _token: CancelToken) -> ModelsEvent:
        assert gate.wait(WAIT_S)
        return FoldersChanged(job, ("late",))

    return work


def test_a_job_ends_with_its_event(runner: JobRunner, events: queue.SimpleQueue[ModelsEvent]) -> None:
    job = runner.submit(ends_with("a"))
    assert events.get(timeout=WAIT_S) == FoldersChanged(job, ("a",))


def test_an_error_becomes_an_event_with_its_sentence(
    runner: JobRunner, events: queue.SimpleQueue[ModelsEvent]
) -> None:
    job = runner.submit(fails(FileGone("It is gone.", remedy="Look elsewhere.", detail="x")))
    assert events.get(timeout=WAIT_S) == ModelsFailed(job, "FileGone", "It is gone.", "Look elsewhere.", "x")


def test_a_mistake_of_ours_costs_one_job(
    runner: JobRunner, events: queue.SimpleQueue[ModelsEvent], caplog: pytest.LogCaptureFixture
) -> None:
    runner.submit(fails(ZeroDivisionError("oops")))
    failed = events.get(timeout=WAIT_S)
    assert isinstance(failed, ModelsFailed)
    assert failed.kind == "InternalError"
    assert "oops" in caplog.text
    job = runner.submit(ends_with("next"))
    assert events.get(timeout=WAIT_S) == FoldersChanged(job, ("next",))


def test_a_cancelled_job_ends_at_once_and_only_once(
    runner: JobRunner, events: queue.SimpleQueue[ModelsEvent]
) -> None:
    gate = threading.Event()
    job = runner.submit(waits_for(gate))
    runner.cancel(job)
    failed = events.get(timeout=WAIT_S)
    assert isinstance(failed, ModelsFailed)
    assert (failed.job, failed.kind) == (job, "Cancelled")
    gate.set()
    runner.cancel(job)
    after = runner.submit(ends_with("after"))
    assert events.get(timeout=WAIT_S) == FoldersChanged(after, ("after",))


def test_a_job_that_waits_for_a_thread_can_be_cancelled(
    runner: JobRunner, events: queue.SimpleQueue[ModelsEvent]
) -> None:
    gate = threading.Event()
    busy = {runner.submit(waits_for(gate)) for _ in range(2)}
    waiting = runner.submit(ends_with("never"))
    runner.cancel(waiting)
    first = events.get(timeout=WAIT_S)
    assert isinstance(first, ModelsFailed)
    assert first.job == waiting
    gate.set()
    assert {
        event.job for event in (events.get(timeout=WAIT_S) for _ in busy) if isinstance(event, FoldersChanged)
    } == busy


def test_after_the_end_nothing_is_told_any_more(events: queue.SimpleQueue[ModelsEvent]) -> None:
    runner, gate = JobRunner(events.put, n_threads=1), threading.Event()
    runner.start()
    token_seen: list[CancelToken] = []

    def work(job: int, token: CancelToken) -> ModelsEvent:
        token_seen.append(token)
        gate.set()
        assert token.wait(WAIT_S)
        return FoldersChanged(job, ())

    runner.submit(work)
    assert gate.wait(WAIT_S)
    runner.stop(WAIT_S)
    assert token_seen[0].is_set
    assert events.empty()
