"""The command line's side of the engine: start it, give it one job at a time, listen, stop when told to."""

from __future__ import annotations

import queue
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, Self

from engine.errors import SlipstreamError
from engine.service import EngineService, ServiceEvent
from engine.worker.messages import (
    BudgetMeasured,
    DevicesListed,
    DevicesMeasured,
    Failed,
    Finished,
    Loaded,
    Unloaded,
)

_POLL_S = 0.2
# A cancel takes effect within one pass of the target; after this long the worker is simply ended.
_CANCEL_PATIENCE_S = 3.0


class Interrupted(Exception):
    """A signal asked to stop before there was anything to show."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass(frozen=True, slots=True)
class _Signal:
    number: int


class EngineClient:
    """A context manager around a service. SIGINT and SIGTERM cancel the running job instead of ending the
    process.

    `interrupted_by` is the number of the signal that did so, else 0.
    """

    def __init__(self, service: EngineService) -> None:
        self.interrupted_by = 0
        self._service = service
        self._events: queue.SimpleQueue[ServiceEvent | _Signal] = queue.SimpleQueue()
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._handlers[number] = signal.signal(number, self._on_signal)
        self._service.start(self._events.put)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._service.stop()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def run(self, submit: Callable[[EngineService], int]) -> Iterator[ServiceEvent]:
        """Submit a job and yield events until its last one.

        Raises SlipstreamError if it fails. After a signal it ends early, whether the job has a result or not:
        see `interrupted_by`. Raises Interrupted if a signal had come before.
        """
        self.raise_if_interrupted()
        job = submit(self._service)
        deadline_s: float | None = None
        while deadline_s is None or time.monotonic() < deadline_s:
            event = self._next()
            if isinstance(event, _Signal):
                self.interrupted_by = event.number
                self._service.cancel(job)
                deadline_s = time.monotonic() + (0.0 if deadline_s is not None else _CANCEL_PATIENCE_S)
            elif isinstance(event, Failed) and event.job == job:
                if self.interrupted_by:
                    return
                raise SlipstreamError(event.sentence, remedy=event.remedy, detail=event.detail)
            elif event is not None:
                yield event
                if _ends(event, job):
                    return

    def drive(
        self,
        start: Callable[[EngineService], None],
        cancel: Callable[[], None],
        is_done: Callable[[], bool],
    ) -> Iterator[ServiceEvent | None]:
        """Start work of many jobs and yield events until it is done; None while there is no event for a moment.

        A signal calls `cancel`; see `interrupted_by`. Raises Interrupted if a signal had come before.
        """
        self.raise_if_interrupted()
        start(self._service)
        deadline_s: float | None = None
        while not is_done() and (deadline_s is None or time.monotonic() < deadline_s):
            event = self._next()
            if isinstance(event, _Signal):
                self.interrupted_by = event.number
                cancel()
                deadline_s = time.monotonic() + (0.0 if deadline_s is not None else _CANCEL_PATIENCE_S)
            else:
                yield event

    def _next(self) -> ServiceEvent | _Signal | None:
        # Without a timeout Windows would not run signal handlers while we wait.
        try:
            return self._events.get(timeout=_POLL_S)
        except queue.Empty:
            return None

    def raise_if_interrupted(self) -> None:
        """Raise Interrupted if a signal has come."""
        if self.interrupted_by:
            raise Interrupted(self.interrupted_by)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        self._events.put(_Signal(number))


def _ends(event: ServiceEvent, job: int) -> bool:
    return (
        isinstance(event, (Finished, Loaded, Unloaded, DevicesListed, DevicesMeasured, BudgetMeasured))
        and event.job == job
    )
