"""A bench over the real worker with a small trained model, whose process is ended in the middle."""

from __future__ import annotations

import queue
from collections.abc import Iterator

import psutil
import pytest

from engine.bench.machine import machine_of
from engine.bench.plan import BenchPlan
from engine.bench.service_bench import ServiceBench
from engine.bench.tasks import builtin_tasks, choose_tasks
from engine.models.bundle import Bundle
from engine.service import Service, ServiceEvent, WorkerLost
from engine.worker.messages import Loaded, LoadSettings, Ready, RoundDone
from tests.engine.worker.real import DRAFT_MODEL, LLAMA

BUNDLE = Bundle("tiny", LLAMA, DRAFT_MODEL)
TASKS = choose_tasks(builtin_tasks(), ("coding", "maths"), 1, 128)
Events = queue.SimpleQueue[ServiceEvent]


@pytest.fixture
def running() -> Iterator[tuple[Service, Events]]:
    events: Events = queue.SimpleQueue()
    service = Service()
    service.start(events.put)
    yield service, events
    service.stop(timeout_s=10.0)


def test_a_bench_survives_the_end_of_its_worker(running: tuple[Service, Events]) -> None:
    service, events = running
    settings = LoadSettings(n_ctx=512, n_threads=1)
    service.load(BUNDLE, settings)
    pid, version, loaded = 0, "", None
    while loaded is None:
        event = events.get(timeout=30)
        if isinstance(event, Ready):
            pid, version = event.pid, event.llama_cpp_version
        loaded = event if isinstance(event, Loaded) else None
    bench = ServiceBench(BenchPlan(TASKS, ("off", "3")), BUNDLE, machine_of(loaded, version, settings))
    bench.start(service)
    n_lost = 0
    while not bench.is_done:
        event = events.get(timeout=30)
        bench.take(event)
        n_lost += isinstance(event, WorkerLost)
        if bench.progress.n_done == 2 and not n_lost and isinstance(event, RoundDone):
            psutil.Process(pid).kill()
    assert n_lost == 1
    result = bench.result
    assert result.is_complete
    assert result.left_out == ()
    assert [run.n_tokens for run in result.runs] == [128] * 4
    assert result.machine.n_threads == 1
    assert not result.machine.chooses_threads
    assert result.machine.llama_cpp == version
    assert all(one.speedup is not None for one in result.overall)
