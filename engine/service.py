"""The facade that the window and the command line share. Its work runs on the engine thread."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Protocol

from engine.budget.budget import BudgetQuestion
from engine.models.bundle import Bundle
from engine.speculation.settings import GenerationSettings
from engine.worker.child import WorkerChild
from engine.worker.messages import (
    Cancel,
    Generate,
    ListDevices,
    LoadBundle,
    LoadSettings,
    MeasureBudget,
    MeasureDevices,
    Prompt,
    Race,
    Unload,
)
from engine.worker.requests import EndWorker, RequestQueue, StopSupervision
from engine.worker.supervision import (
    DEFAULT_SUPERVISION,
    Reloading,
    ServiceEvent,
    SupervisionSettings,
    WorkerAnswers,
    WorkerLost,
    WorkerSilent,
)
from engine.worker.supervisor import Supervisor

__all__ = [
    "EngineService",
    "Reloading",
    "Service",
    "ServiceEvent",
    "WorkerAnswers",
    "WorkerLost",
    "WorkerSilent",
]


class EngineService(Protocol):
    """What the app and the command line may ask. No method blocks; events come on the engine thread."""

    def start(self, on_event: Callable[[ServiceEvent], None]) -> None: ...

    def load(self, bundle: Bundle, settings: LoadSettings) -> int:
        """Return the job's id; Loaded or Failed follows, LoadProgress in between."""

    def unload(self) -> int: ...

    def generate(
        self, prompt: Prompt, settings: GenerationSettings, *, speculative: bool, fresh: bool = False
    ) -> int:
        """Answer in one lane; `fresh`: from empty caches, as a measurement does."""

    def race(self, prompt: Prompt, settings: GenerationSettings) -> int: ...

    def list_devices(self) -> int: ...

    def budget(self, question: BudgetQuestion) -> int:
        """Return the job's id; BudgetMeasured or Failed follows. What is loaded stays as it is."""

    def measure_devices(self) -> int:
        """DevicesMeasured or Failed follows, MeasureDevicesProgress in between; takes seconds."""

    def cancel(self, job: int) -> None: ...

    def end_worker(self) -> None:
        """Kill the worker, start another and reload what was loaded."""

    def stop(self, timeout_s: float = 1.0) -> None:
        """End the worker and the engine thread; returns within `timeout_s`."""


class Service:
    """The engine thread with its worker. Every method may be called from any thread and returns at once.

    Commands given before `start` are carried out after it. After `stop` they are dropped.
    """

    def __init__(
        self,
        *,
        settings: SupervisionSettings = DEFAULT_SUPERVISION,
        launch: Callable[[], WorkerChild] = WorkerChild,
    ) -> None:
        self._settings = settings
        self._launch = launch
        self._requests = RequestQueue()
        self._job_ids = itertools.count(1)
        self._thread: threading.Thread | None = None

    def start(self, on_event: Callable[[ServiceEvent], None]) -> None:
        supervisor = Supervisor(
            self._requests, on_event, self._next_job, settings=self._settings, launch=self._launch
        )
        self._thread = threading.Thread(target=supervisor.run, name="engine", daemon=True)
        self._thread.start()

    def load(self, bundle: Bundle, settings: LoadSettings) -> int:
        job = self._next_job()
        self._requests.put(LoadBundle(job, bundle.target, bundle.drafter, settings))
        return job

    def unload(self) -> int:
        job = self._next_job()
        self._requests.put(Unload(job))
        return job

    def generate(
        self, prompt: Prompt, settings: GenerationSettings, *, speculative: bool, fresh: bool = False
    ) -> int:
        job = self._next_job()
        self._requests.put(Generate(job, prompt, settings, speculative, fresh))
        return job

    def race(self, prompt: Prompt, settings: GenerationSettings) -> int:
        job = self._next_job()
        self._requests.put(Race(job, prompt, settings))
        return job

    def list_devices(self) -> int:
        job = self._next_job()
        self._requests.put(ListDevices(job))
        return job

    def budget(self, question: BudgetQuestion) -> int:
        job = self._next_job()
        self._requests.put(MeasureBudget(job, question))
        return job

    def measure_devices(self) -> int:
        job = self._next_job()
        self._requests.put(MeasureDevices(job))
        return job

    def cancel(self, job: int) -> None:
        self._requests.put(Cancel(job))

    def end_worker(self) -> None:
        self._requests.put(EndWorker())

    def stop(self, timeout_s: float = 1.0) -> None:
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._requests.put(StopSupervision())
        thread.join(timeout_s)
        if not thread.is_alive():
            self._requests.close()

    def _next_job(self) -> int:
        return next(self._job_ids)
