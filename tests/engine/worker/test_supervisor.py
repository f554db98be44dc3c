"""Supervision with real processes: every way in which a worker can end or fall silent."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from engine.models.bundle import NGRAM_DRAFTER, Bundle, DrafterChoice, DrafterKind
from engine.service import Reloading, Service, WorkerAnswers, WorkerLost, WorkerSilent
from engine.speculation.round import FinishReason
from engine.worker.child import WorkerChild
from engine.worker.messages import (
    DevicesListed,
    Failed,
    Finished,
    LaneFinished,
    LoadBundle,
    Loaded,
    LoadedModel,
    LoadSettings,
    Ready,
    RoundDone,
    Unloaded,
)
from engine.worker.reload import Reload
from tests.engine.worker.asking import BUNDLE, ask, load, worker_pid
from tests.engine.worker.conftest import IMPATIENT, StartService
from tests.engine.worker.listener import Listener
from tests.engine.worker.pretend import run_broken_worker, run_pretend_worker


def test_jobs_are_answered_in_order(start_service: StartService) -> None:
    service, listener = start_service()
    load(service, listener)
    first, second = ask(service, "count 3"), ask(service, "count 2")
    listener.wait_for(Finished, lambda event: event.job == second)
    assert [event.job for event in listener.of(Finished)] == [first, second]
    assert [event.job for event in listener.of(RoundDone)] == [first] * 3 + [second] * 2


def test_devices_and_unload_are_answered(start_service: StartService) -> None:
    service, listener = start_service()
    devices, unload = service.list_devices(), service.unload()
    assert listener.wait_for(DevicesListed).job == devices
    assert listener.wait_for(Unloaded).job == unload


def test_cancel_ends_the_running_job_and_keeps_its_rounds(start_service: StartService) -> None:
    service, listener = start_service()
    job = ask(service, "count 100000")
    listener.wait_for(RoundDone)
    service.cancel(job)
    assert listener.wait_for(LaneFinished).reason is FinishReason.CANCELLED
    assert listener.wait_for(Finished).job == job


def test_cancel_of_a_waiting_job_leaves_the_running_one_alone(start_service: StartService) -> None:
    service, listener = start_service()
    running, waiting = ask(service, "count 60"), ask(service, "count 100000")
    listener.wait_for(RoundDone)
    service.cancel(waiting)
    listener.wait_for(Finished, lambda event: event.job == waiting)
    reasons = {event.job: event.reason for event in listener.of(LaneFinished)}
    assert reasons == {running: FinishReason.LENGTH, waiting: FinishReason.CANCELLED}


@pytest.mark.parametrize(("what", "error"), [("raise", "ZeroDivisionError"), ("overflow", "OverflowError")])
def test_a_mistake_of_ours_fails_one_job_in_a_sentence(
    start_service: StartService, what: str, error: str
) -> None:
    service, listener = start_service()
    job = ask(service, what)
    failed = listener.wait_for(Failed)
    assert (failed.job, failed.kind) == (job, "InternalError")
    assert "Traceback" not in failed.sentence + failed.remedy
    assert error in failed.detail
    job = ask(service, "count 1")
    assert listener.wait_for(Finished).job == job


def test_a_name_that_is_not_utf8_fails_its_job_and_nothing_else(start_service: StartService) -> None:
    service, listener = start_service()
    bad = service.load(Bundle("Bad", "/tmp/\udcff.gguf"), LoadSettings())
    failed = listener.wait_for(Failed)
    assert (failed.job, failed.kind) == (bad, "BadOption")
    assert "UTF-8" in failed.sentence
    assert ask(service, "count 1") == listener.wait_for(Finished).job


def test_a_killed_worker_fails_its_jobs_restarts_and_reloads(start_service: StartService) -> None:
    service, listener = start_service()
    load(service, listener)
    running, waiting = ask(service, "count 100000"), ask(service, "count 1")
    listener.wait_for(RoundDone)
    after = listener.mark()
    os.kill(worker_pid(listener), signal.SIGKILL)
    lost = listener.wait_for(WorkerLost)
    assert lost.job == running
    assert "signal 9" in lost.sentence
    assert lost.remedy
    assert [(event.job, event.kind) for event in listener.of(Failed)] == [
        (running, "WorkerDied"),
        (waiting, "WorkerDied"),
    ]
    loaded = listener.wait_for(Loaded, after=after)
    assert loaded.target.path == BUNDLE.target
    assert [event.job for event in listener.of(Reloading)] == [loaded.job]
    again = ask(service, "count 2")
    assert listener.wait_for(Finished, after=after).job == again


def test_a_failed_check_of_llama_cpp_is_told_in_words(start_service: StartService) -> None:
    service, listener = start_service()
    ask(service, "abort")
    lost = listener.wait_for(WorkerLost)
    assert lost.sentence == (
        "llama.cpp stopped with a failed check: GGML_ASSERT(n_tokens <= cparams.n_batch) failed"
    )
    assert "ggml.c:1785" in lost.detail


def test_an_exit_code_is_told_in_words(start_service: StartService) -> None:
    service, listener = start_service()
    ask(service, "exit 3")
    assert "exit code 3" in listener.wait_for(WorkerLost).sentence


def test_a_load_that_kills_the_worker_is_not_repeated(start_service: StartService) -> None:
    service, listener = start_service()
    job = service.load(Bundle("Bad", "kill"), LoadSettings())
    assert listener.wait_for(WorkerLost).job == job
    listener.wait_for(Ready, after=listener.events.index(listener.wait_for(WorkerLost)))
    assert len(listener.of(WorkerLost)) == 1
    assert ask(service, "count 1") == listener.wait_for(Finished).job


def test_a_load_that_kills_the_worker_has_taken_the_place_of_what_was_loaded(
    start_service: StartService,
) -> None:
    service, listener = start_service()
    load(service, listener)
    after = listener.mark()
    service.load(Bundle("Bad", "kill"), LoadSettings())
    listener.wait_for(WorkerLost)
    job = ask(service, "count 1")
    listener.wait_for(Finished, lambda event: event.job == job)
    assert not any(isinstance(event, (Reloading, Loaded)) for event in listener.events[after:])


def test_a_reload_that_keeps_killing_the_worker_is_given_up_until_asked(
    start_service: StartService, tmp_path: Path
) -> None:
    service, listener = start_service()
    trap = tmp_path / "trap"
    load(service, listener, Bundle("Trap", "reload-kills", DrafterChoice(DrafterKind.MODEL, str(trap))))
    trap.touch()
    os.kill(worker_pid(listener), signal.SIGKILL)
    listener.wait_for(WorkerLost, lambda _: len(listener.of(WorkerLost)) == 3)
    time.sleep(0.5)
    assert len(listener.of(WorkerLost)) == 3
    trap.unlink()
    job = ask(service, "count 1")
    assert listener.wait_for(Finished).job == job
    assert listener.of(Loaded)[-1].target.path == "reload-kills"


def test_a_worker_that_cannot_start_stays_down_and_says_why(start_service: StartService) -> None:
    service, listener = start_service(run_broken_worker)
    listener.wait_for(WorkerLost, lambda _: len(listener.of(WorkerLost)) == 3)
    time.sleep(0.5)
    assert len(listener.of(WorkerLost)) == 3
    assert "no such library" in listener.of(WorkerLost)[0].sentence
    job = ask(service, "count 1")
    assert listener.wait_for(Failed).job == job


def test_a_process_that_cannot_be_started_again_is_told_even_to_those_who_asked_nothing() -> None:
    children = [WorkerChild(run_pretend_worker)]

    def launch() -> WorkerChild:
        if children:
            return children.pop()
        raise OSError(11, "Resource temporarily unavailable")

    service, listener = Service(settings=IMPATIENT, launch=launch), Listener()
    service.start(listener)
    load(service, listener)
    os.kill(worker_pid(listener), signal.SIGKILL)
    listener.wait_for(WorkerLost, lambda _: len(listener.of(WorkerLost)) == 2)
    assert listener.of(WorkerLost)[1].sentence == "The model process could not be started."
    service.stop(timeout_s=10.0)


def test_a_mistake_in_supervision_leaves_no_job_waiting() -> None:
    def broken_launch() -> WorkerChild:
        raise ZeroDivisionError

    service, listener = Service(launch=broken_launch), Listener()
    service.start(listener)
    first, second = ask(service, "count 1"), ask(service, "count 1")
    assert listener.wait_for(Failed, lambda event: event.job == second).remedy
    assert listener.of(Failed)[0].job == first
    service.stop(timeout_s=10.0)


def test_after_unload_nothing_is_reloaded(start_service: StartService) -> None:
    service, listener = start_service()
    load(service, listener)
    service.unload()
    listener.wait_for(Unloaded)
    after = listener.mark()
    os.kill(worker_pid(listener), signal.SIGKILL)
    listener.wait_for(Ready, after=after)
    job = ask(service, "count 1")
    listener.wait_for(Finished, lambda event: event.job == job)
    assert len(listener.of(Loaded)) == 1


def test_a_stopped_worker_is_reported_silent_and_answers_again(start_service: StartService) -> None:
    service, listener = start_service()
    job = ask(service, "freeze")
    silent = listener.wait_for(WorkerSilent)
    assert silent.job == job
    assert silent.silent_s >= 0.8
    os.kill(worker_pid(listener), signal.SIGCONT)
    listener.wait_for(WorkerAnswers)
    assert listener.wait_for(Finished).job == job
    assert len(listener.of(WorkerSilent)) == 1


def test_a_stopped_worker_can_be_ended_even_with_a_full_pipe(start_service: StartService) -> None:
    service, listener = start_service()
    load(service, listener)
    frozen = ask(service, "freeze")
    for _ in range(8):
        ask(service, "count " + "0" * 60_000)
    listener.wait_for(WorkerSilent)
    after = listener.mark()
    service.end_worker()
    assert listener.wait_for(WorkerLost, after=after).job == frozen
    listener.wait_for(Loaded, after=after)
    job = ask(service, "count 1")
    assert listener.wait_for(Finished, after=after).job == job


def test_a_step_that_runs_absurdly_long_counts_as_silence(start_service: StartService) -> None:
    service, listener = start_service()
    job = ask(service, "hang")
    silent = listener.wait_for(WorkerSilent)
    assert silent.job == job
    assert silent.silent_s > 2.0


@pytest.mark.parametrize("busy", ["count 100000", "hang", "freeze"])
def test_stop_ends_the_worker_within_a_second(start_service: StartService, busy: str) -> None:
    service, listener = start_service()
    ask(service, busy)
    pid = worker_pid(listener)
    time.sleep(0.1)
    began = time.monotonic()
    service.stop(timeout_s=5.0)
    assert time.monotonic() - began < 2.0  # a second, and another one for a busy machine
    assert not psutil.pid_exists(pid)


def test_what_the_worker_prints_stays_off_our_standard_output(
    start_service: StartService, capfd: pytest.CaptureFixture[str]
) -> None:
    service, listener = start_service()
    ask(service, "print")
    listener.wait_for(Finished)
    service.stop(timeout_s=10.0)
    assert capfd.readouterr() == ("", "")


def kill_again_and_again(service: Service, listener: Listener, n_kills: int) -> None:
    for i in range(n_kills):
        after = listener.mark()
        job = ask(service, "count 100000")
        time.sleep(0.013 * (i % 7))  # before it starts, while it loads, while it answers
        ready = listener.of(Ready)
        os.kill(ready[-1].pid, signal.SIGKILL)
        listener.wait_for(WorkerLost, after=after)
        listener.wait_for(Loaded, after=after)
        # A job that had not reached the dead worker yet goes to the next one.
        service.cancel(job)
        assert listener.wait_for_end(job)


@pytest.mark.parametrize("n_kills", [10, pytest.param(50, marks=pytest.mark.slow)])
def test_many_kills_leave_no_orphan_no_descriptor_and_no_file(
    start_service: StartService, n_kills: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    service, listener = start_service()
    load(service, listener)
    me = psutil.Process()
    kill_again_and_again(service, listener, 2)
    n_descriptors, n_threads, n_children = me.num_fds(), me.num_threads(), len(me.children())
    kill_again_and_again(service, listener, n_kills - 2)
    assert me.num_fds() == n_descriptors
    assert me.num_threads() == n_threads
    assert len(me.children()) == n_children
    assert list(tmp_path.iterdir()) == []
    job = ask(service, "count 2")
    assert isinstance(listener.wait_for_end(job), Finished)


def test_a_cancelled_reload_is_not_tried_again() -> None:
    reload = Reload()
    wanted = LoadBundle(1, "a.gguf", NGRAM_DRAFTER)
    model = LoadedModel("a.gguf", "a", "pretend", 1, 2, 3, 0, 4, 5, True)
    reload.note_end(wanted, Loaded(1, model, None, 64, 1, False, (), {}, 0.0))
    again = reload.begin(7)
    assert (again.job, again.target) == (7, "a.gguf")
    reload.note_end(again, Failed(7, "WorkerDied", "It ended."))
    assert reload.is_due
    reload.note_end(again, Failed(7, "Cancelled", "It was stopped."))
    assert not reload.is_due
