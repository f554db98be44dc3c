"""Supervision of the worker: start, watch, describe its death, restart, reload.

One thread, the engine thread, runs `Supervisor.run`. It waits for three things at once: the worker's events,
the worker's end, and requests from other threads.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, wait

import msgspec

from engine.errors import BadOption, SlipstreamError, WorkerDied
from engine.worker.child import WorkerChild
from engine.worker.death import describe_death
from engine.worker.inbox import Job
from engine.worker.messages import Command, Event, Failed, LoadBundle, Loaded, Ping, Pong, Ready, Shutdown
from engine.worker.reload import JobEnd, Reload
from engine.worker.requests import EndWorker, RequestQueue, StopSupervision
from engine.worker.supervision import (
    DEFAULT_SUPERVISION,
    Reloading,
    ServiceEvent,
    SupervisionSettings,
    WorkerLost,
)
from engine.worker.vigil import Vigil
from engine.worker.wire import decode_events, encode_command

_log = logging.getLogger(__name__)

_EVENTS_PER_TURN = 256


class Supervisor:
    """Keeps one worker running and every job answered exactly once.

    `next_job_id` gives ids for its own reloads; `on_event` is called on the engine thread.
    """

    def __init__(
        self,
        requests: RequestQueue,
        on_event: Callable[[ServiceEvent], None],
        next_job_id: Callable[[], int],
        *,
        settings: SupervisionSettings = DEFAULT_SUPERVISION,
        launch: Callable[[], WorkerChild] = WorkerChild,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._requests = requests
        self._on_event = on_event
        self._next_job_id = next_job_id
        self._settings = settings
        self._launch = launch
        self._clock = clock
        self._child: WorkerChild | None = None
        self._vigil = Vigil(settings, clock())
        self._waiting: dict[int, Job] = {}
        self._reload = Reload()
        self._quick_deaths = 0
        self._restart_at: float | None = None

    def run(self) -> None:
        """Serve until StopSupervision is requested; the worker has ended when this returns."""
        try:
            self._start_child()
            while self._serve_once():
                pass
        except Exception:  # noqa: BLE001 - whatever it is
            # Ours alone to mend; until then nobody shall wait for an answer that never comes.
            _log.exception("Supervision failed")
            self._refuse_everything(traceback.format_exc())
        finally:
            self._end_child()

    # ------------------------------------------------------------------------------------------ one turn

    def _serve_once(self) -> bool:
        sources: list[Connection | int] = [self._requests.wakeup]
        if self._child is not None:
            sources += [self._child.events, self._child.sentinel]
        ready = wait(sources, timeout=self._patience_s())
        if self._child is not None and self._child.events in ready:
            self._read_events()
        elif self._child is not None and self._child.sentinel in ready:
            self._bury(describe_death(self._child.exit_code(), self._child.last_words()))
        if self._requests.wakeup in ready and not self._take_requests():
            return False
        self._keep_watch()
        return True

    def _patience_s(self) -> float:
        until_restart = self._settings.ping_every_s
        if self._restart_at is not None:
            until_restart = max(0.0, self._restart_at - self._clock())
        return min(self._settings.ping_every_s, until_restart)

    def _take_requests(self) -> bool:
        for request in self._requests.take():
            if isinstance(request, StopSupervision):
                return False
            if isinstance(request, EndWorker):
                self._end_on_request()
            else:
                self._submit(request)
        return True

    def _keep_watch(self) -> None:
        now = self._clock()
        if self._child is None:
            if self._restart_at is not None and now >= self._restart_at:
                self._start_child()
            return
        if self._vigil.ping_due(now):
            self._child.send(Ping(self._vigil.count_ping(now)))
        report = self._vigil.check(now, self._current_job())
        if report is not None:
            self._tell(report)

    # ---------------------------------------------------------------------------------------------- jobs

    def _submit(self, command: Command) -> None:
        if isinstance(command, Job):
            self._waiting[command.job] = command
        elif self._child is None:
            return
        try:
            data = encode_command(command)
        except (UnicodeEncodeError, OverflowError, TypeError) as error:
            self._refuse(command, error)
            return
        if self._child is None:
            # A person asks for something: whatever happened before, it is worth another try.
            self._quick_deaths = 0
            self._start_child()
        if self._child is not None:
            self._child.send_encoded(data)

    def _refuse(self, command: Command, reason: Exception) -> None:
        """Fail a job that has no form on the wire."""
        what = "A file name or text in this request is not valid UTF-8."
        if not isinstance(reason, UnicodeEncodeError):
            what = "A value in this request is beyond what can be handed to the model process."
        if isinstance(command, Job):
            del self._waiting[command.job]
            remedy = "Rename the file, or change the text."
            self._tell(Failed(command.job, BadOption.__name__, what, remedy, repr(reason)))

    def _current_job(self) -> int:
        return next(iter(self._waiting), 0)

    def _read_events(self) -> None:
        """Read what has arrived. Events that a dead worker left in the pipe still count; its end comes after
        them.
        """
        child = self._child
        for _ in range(_EVENTS_PER_TURN):
            if child is None or child is not self._child or not child.events.poll():
                return
            try:
                events = decode_events(child.events.recv_bytes())
            except (EOFError, OSError):
                if child.wait(timeout_s=self._settings.shutdown_grace_s):
                    self._bury(describe_death(child.exit_code(), child.last_words()))
                else:
                    self._bury(WorkerDied("The model process broke off its connection.", remedy="Try again."))
                return
            except msgspec.DecodeError as error:
                self._bury(WorkerDied("The model process sent something unreadable.", detail=str(error)))
                return
            for event in events:
                self._take_event(child, event)

    def _take_event(self, child: WorkerChild, event: Event) -> None:
        answers = self._vigil.hear(self._clock(), event)
        if answers is not None:
            self._tell(answers)
        if isinstance(event, Pong):
            return
        if isinstance(event, Ready):
            child.hide_log_file()
        if isinstance(event, JobEnd):
            self._end_job(event)
        self._tell(event)

    def _end_job(self, event: JobEnd) -> None:
        self._reload.note_end(self._waiting.pop(event.job, None), event)
        if isinstance(event, Loaded):
            self._quick_deaths = 0

    # ---------------------------------------------------------------------------------------- life and death

    def _start_child(self) -> None:
        self._restart_at = None
        try:
            self._child = self._launch()
        except OSError as error:
            self._child = None
            died = WorkerDied("The model process could not be started.", detail=str(error))
            self._fail_waiting(died)
            # Nobody may be waiting for an answer, but for what was loaded: it does not come.
            self._tell(WorkerLost(0, died.sentence, died.remedy, died.detail))
            return
        self._vigil = Vigil(self._settings, self._clock())
        if self._reload.is_due and not self._waiting_load():
            reload = self._reload.begin(self._next_job_id())
            self._waiting = {reload.job: reload, **self._waiting}
            self._child.send(reload)
            self._tell(Reloading(reload.job))

    def _waiting_load(self) -> bool:
        return any(isinstance(job, LoadBundle) for job in self._waiting.values())

    def _bury(self, error: WorkerDied) -> None:
        """Release the dead worker, fail what it had to do, say so and plan its successor."""
        doing = self._current_job()
        self._reload.note_death(self._waiting.get(doing))
        self._release_child()
        self._fail_waiting(error)
        self._tell(
            WorkerLost(
                job=0 if doing == self._reload.job else doing,
                sentence=error.sentence,
                remedy=error.remedy,
                detail=error.detail,
            )
        )
        self._quick_deaths += 1
        if self._quick_deaths < self._settings.max_quick_deaths:
            self._restart_at = self._clock() + self._settings.restart_delay_s * (self._quick_deaths - 1)

    def _end_on_request(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._bury(
                WorkerDied("The model process was ended, as you asked.", remedy="It starts again by itself.")
            )
        self._quick_deaths = 0
        self._start_child()

    def _fail_waiting(self, error: SlipstreamError) -> None:
        waiting, self._waiting = self._waiting, {}
        for job in waiting:
            self._tell(Failed(job, error.kind, error.sentence, error.remedy, error.detail))

    def _refuse_everything(self, detail: str) -> None:
        error = SlipstreamError(
            "Something went wrong inside Slipstream.",
            remedy="Close Slipstream and open it again.",
            detail=detail,
        )
        while True:
            self._fail_waiting(error)
            wait([self._requests.wakeup])
            for request in self._requests.take():
                if isinstance(request, StopSupervision):
                    return
                if isinstance(request, Job):
                    self._waiting[request.job] = request

    def _end_child(self) -> None:
        if self._child is not None:
            self._child.send(Shutdown())
            self._child.wait(self._settings.shutdown_grace_s)
        self._release_child()

    def _release_child(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None

    def _tell(self, event: ServiceEvent) -> None:
        try:
            self._on_event(event)
        except Exception:  # noqa: BLE001 - a listener's mistake must not take supervision down
            _log.exception("A listener failed on %s", type(event).__name__)
