"""A worker that only measures: a file that ends it costs neither what is loaded nor the window."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from engine.desk.jobs import CancelToken
from engine.errors import Cancelled, SlipstreamError, WorkerDied
from engine.models.description import Device
from engine.service import EngineService, Service, ServiceEvent, WorkerSilent
from engine.worker.messages import DevicesListed, Failed

IDLE_S = 60.0
"""How long it is kept when nobody asks: on a GPU even an idle process holds some of its memory."""
FIRST_PATIENCE_S = 5.0
"""How long the devices are waited for while something else is asked, as long as nothing is known of them."""
_POLL_S = 0.05
_STOP_S = 1.0

_log = logging.getLogger(__name__)

Last = TypeVar("Last", bound=ServiceEvent)


class ToldElsewhere(SlipstreamError):
    """An error that another process told; its kind is the other's."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.sentence, remedy=failed.remedy, detail=failed.detail)
        self._kind = failed.kind

    @property
    def kind(self) -> str:
        return self._kind


def _failure(failed: Failed, hangs: bool) -> SlipstreamError:
    """Return what to raise for `failed`: what a process that loads says of its end is not true of one that measures."""
    remedy = "Try again. If it happens again with one model, its file may be damaged."
    if hangs:
        sentence = "llama.cpp did not come to an end with this question and was stopped."
        return WorkerDied(sentence, remedy=remedy, detail=failed.detail)
    if failed.kind == WorkerDied.__name__:
        detail = f"{failed.sentence}\n{failed.detail}"
        return WorkerDied("The process that measures ended by itself.", remedy=remedy, detail=detail)
    return ToldElsewhere(failed)


class Surveyor:
    """Starts a service when it is first asked and ends it when it has been idle. One question at a time."""

    def __init__(self, make_service: Callable[[], EngineService] = Service, idle_s: float = IDLE_S) -> None:
        self._make_service = make_service
        self._idle_s = idle_s
        self._turn = threading.Lock()
        self._service: EngineService | None = None
        self._events: queue.SimpleQueue[ServiceEvent] = queue.SimpleQueue()
        self._dismissal: threading.Timer | None = None
        self._is_stopped = False
        self._devices: tuple[Device, ...] = ()

    @property
    def is_running(self) -> bool:
        return self._service is not None

    def ask(
        self,
        send: Callable[[EngineService], int],
        last: type[Last],
        token: CancelToken,
        on_event: Callable[[ServiceEvent], None] = lambda _: None,
    ) -> Last:
        """Send a job and wait for its `last` event; events before it go to `on_event`.

        Raises Cancelled, WorkerDied for a process that had to be ended because it hung, or what the job failed with.
        """
        with self._my_turn(token):
            service = self._started()
            job = send(service)
            hangs = False
            while True:
                if token.is_set:
                    service.cancel(job)
                    token.check()
                event = self._next()
                if isinstance(event, WorkerSilent) and event.job == job:
                    # Nothing is loaded that could be lost; the job gets its Failed.
                    hangs = True
                    service.end_worker()
                if isinstance(event, Failed) and event.job == job:
                    raise _failure(event, hangs)
                if isinstance(event, last) and getattr(event, "job", 0) == job:
                    return event
                if event is not None and getattr(event, "job", 0) == job:
                    on_event(event)

    def devices(self, token: CancelToken) -> tuple[Device, ...]:
        """Return what llama.cpp can compute on, as it was last told while something else is being asked.

        () where it cannot be asked. Raises Cancelled.
        """
        patience_s = 0.0 if self._devices else FIRST_PATIENCE_S
        if self._turn.acquire(timeout=patience_s) if patience_s else self._turn.acquire(blocking=False):
            self._turn.release()
            try:
                told = self.ask(lambda service: service.list_devices(), DevicesListed, token)
            except Cancelled:
                raise
            except SlipstreamError as error:
                _log.warning("%s %s", error.sentence, error.detail)
            else:
                self._devices = told.devices
        return self._devices

    def stop(self, timeout_s: float = _STOP_S) -> None:
        """End the process; whoever waits for an answer is to be cancelled first."""
        self._is_stopped = True
        if self._turn.acquire(timeout=timeout_s):
            try:
                self._end(timeout_s)
            finally:
                self._turn.release()

    @contextmanager
    def _my_turn(self, token: CancelToken) -> Iterator[None]:
        while not self._turn.acquire(timeout=_POLL_S):
            token.check()
        try:
            if self._dismissal is not None:
                self._dismissal.cancel()
            yield
        finally:
            self._dismissal = threading.Timer(self._idle_s, self._dismiss)
            self._dismissal.daemon = True
            self._dismissal.start()
            self._turn.release()

    def _started(self) -> EngineService:
        if self._is_stopped:
            raise SlipstreamError("Slipstream is closing.")
        if self._service is None:
            self._events = queue.SimpleQueue()
            self._service = self._make_service()
            self._service.start(self._events.put)
        return self._service

    def _next(self) -> ServiceEvent | None:
        try:
            return self._events.get(timeout=_POLL_S)
        except queue.Empty:
            return None

    def _dismiss(self) -> None:
        if self._turn.acquire(blocking=False):
            try:
                self._end(_STOP_S)
            finally:
                self._turn.release()

    def _end(self, timeout_s: float) -> None:
        if self._dismissal is not None:
            self._dismissal.cancel()
        service, self._service = self._service, None
        if service is not None:
            service.stop(timeout_s)
