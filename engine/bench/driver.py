"""Runs a plan through the service, one answer at a time: who drives it hands it the service's events."""

from __future__ import annotations

from typing import Protocol

from engine.bench.plan import Task
from engine.bench.results import BenchResult
from engine.service import EngineService, ServiceEvent


class BenchProgress(Protocol):
    """Where a bench stands. `task` and `mode` are what runs: None and "" while it warms up and at its end.

    `left_s` is what is left, by what is done so far; None before anything is. `is_reloading`: the models' process was
    lost, and what is measured is being loaded again.
    """

    @property
    def n_done(self) -> int: ...

    @property
    def n_total(self) -> int: ...

    @property
    def task(self) -> Task | None: ...

    @property
    def mode(self) -> str: ...

    @property
    def left_s(self) -> float | None: ...

    @property
    def is_reloading(self) -> bool: ...


class Bench(Protocol):
    """One bench. Call `start` when the bundle is loaded, then `take` with every event of the service until `is_done`.

    Nothing blocks. `cancel` ends it after the running answer is broken off; what was measured stays in `result`.
    """

    def start(self, service: EngineService) -> None: ...

    def take(self, event: ServiceEvent) -> bool:
        """Take an event; return whether `result` or `progress` changed."""

    def cancel(self) -> None: ...

    def forget(self) -> None:
        """Keep nothing to go on from: the whole result is kept elsewhere, or is not wanted."""

    @property
    def n_resumed(self) -> int:
        """How many runs were measured before it was broken off the last time."""

    @property
    def is_done(self) -> bool: ...

    @property
    def progress(self) -> BenchProgress: ...

    @property
    def result(self) -> BenchResult:
        """What is measured so far; `is_complete` says whether that is all."""
