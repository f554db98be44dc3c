from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import pytest

from engine.service import Service
from engine.worker.child import WorkerChild, WorkerEntry
from engine.worker.supervision import SupervisionSettings
from tests.engine.worker.listener import Listener
from tests.engine.worker.pretend import run_pretend_worker

IMPATIENT = SupervisionSettings(ping_every_s=0.1, silent_after_s=0.8, step_limit_s=2.0, restart_delay_s=0.05)

StartService = Callable[..., tuple[Service, Listener]]


@pytest.fixture
def start_service() -> Iterator[StartService]:
    """Start a service over a pretend worker; it is stopped at the end of the test."""
    services: list[Service] = []

    def start(
        entry: WorkerEntry = run_pretend_worker, settings: SupervisionSettings = IMPATIENT
    ) -> tuple[Service, Listener]:
        service = Service(settings=settings, launch=functools.partial(WorkerChild, entry))
        listener = Listener()
        services.append(service)
        service.start(listener)
        return service, listener

    yield start
    for service in services:
        service.stop(timeout_s=10.0)
