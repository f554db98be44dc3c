"""The facade that the window and the command line share. Its work runs on the engine thread.

This file fixes the contract; see `Service`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from engine.models.bundle import Bundle
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import Event, LoadSettings, Prompt


class WorkerLost(msgspec.Struct, frozen=True, tag=True):
    """The worker ended by itself. `job` is what it was doing (0: nothing); every waiting job has got its Failed already.

    A new worker is being started and what was loaded is reloaded: Ready and Loaded (or Failed) follow.
    """

    job: int
    sentence: str
    remedy: str
    detail: str


class WorkerSilent(msgspec.Struct, frozen=True, tag=True):
    """The worker has not answered for `silent_s` seconds; `end_worker` would end and restart it."""

    job: int
    silent_s: float


class WorkerAnswers(msgspec.Struct, frozen=True, tag=True):
    """A worker that was reported silent answers again."""


ServiceEvent = Event | WorkerLost | WorkerSilent | WorkerAnswers


class EngineService(Protocol):
    """What the app and the command line may ask. No method blocks; events come on the engine thread."""

    def start(self, on_event: Callable[[ServiceEvent], None]) -> None: ...

    def load(self, bundle: Bundle, settings: LoadSettings) -> int:
        """Return the job's id; Loaded or Failed follows, LoadProgress in between."""

    def unload(self) -> int: ...

    def generate(self, prompt: Prompt, settings: GenerationSettings, *, speculative: bool) -> int: ...

    def race(self, prompt: Prompt, settings: GenerationSettings) -> int: ...

    def list_devices(self) -> int: ...

    def cancel(self, job: int) -> None: ...

    def end_worker(self) -> None:
        """Kill the worker, start another and reload what was loaded."""

    def stop(self, timeout_s: float = 1.0) -> None:
        """End the worker and the engine thread; returns within `timeout_s`."""
