"""The worker's main loop: take a job, do it, answer it exactly once."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Protocol

from engine.errors import SlipstreamError
from engine.worker.activity import Activity
from engine.worker.inbox import Flag, Inbox, Job
from engine.worker.messages import Event, Failed, Ready
from engine.worker.outlet import EventOutlet
from engine.worker.process import leave

# The parent kills what has not ended shortly after this.
_CLEAN_END_S = 0.3
_DETAIL_CHARACTERS = 3_000


class Session(Protocol):
    """What does the jobs: it holds what is loaded."""

    @property
    def cancel(self) -> Flag: ...

    def ready(self) -> Ready:
        """Return the first event."""

    def perform(self, job: Job) -> None:
        """Do `job` and emit its events, the last one included; raises for a failed job."""

    def close(self) -> None: ...


SessionMaker = Callable[[Callable[[Event], None], Activity], Session]


def serve(commands: Connection, events: Connection, make_session: SessionMaker) -> None:
    """Do jobs from `commands` and report to `events` until Shutdown; ends the process when the parent is
    gone.
    """
    emit = EventOutlet(events).emit
    activity = Activity()
    session = make_session(emit, activity)
    inbox = Inbox(commands, emit, session.cancel, activity, _on_end)
    emit(session.ready())
    inbox.start()
    while (job := inbox.next_job()) is not None:
        try:
            session.perform(job)
        except SlipstreamError as error:
            detail = error.detail[-_DETAIL_CHARACTERS:]
            emit(Failed(job.job, error.kind, error.sentence, error.remedy, detail))
        except Exception:  # noqa: BLE001 - a mistake of ours costs the person one job, told in a sentence
            emit(_internal_error(job.job))
    session.close()


def _on_end(asked: bool) -> None:
    """End the process although the main thread may be inside a pass: at once when the parent is gone."""
    if not asked:
        leave(0)
    deadline = threading.Timer(_CLEAN_END_S, leave, args=(0,))
    deadline.daemon = True
    deadline.start()


def _internal_error(job: int) -> Failed:
    return Failed(
        job,
        kind="InternalError",
        sentence="Something went wrong inside Slipstream.",
        remedy="Try again; if it happens again, report it with the details below.",
        detail=traceback.format_exc()[-_DETAIL_CHARACTERS:],
    )
