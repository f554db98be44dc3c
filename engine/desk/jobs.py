"""Jobs on threads of their own, each of which ends with exactly one event, at once when it is cancelled."""

from __future__ import annotations

import itertools
import logging
import queue
import threading
from collections.abc import Callable, Iterator

from engine.errors import Cancelled, SlipstreamError
from engine.models_events import ModelsEvent, ModelsFailed

_log = logging.getLogger(__name__)


class CancelToken:
    """Says to a job that nobody waits for it any more."""

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        self._event.set()

    def wait(self, timeout_s: float) -> bool:
        """Sleep for `timeout_s`, or until the job is cancelled; return whether it is."""
        return self._event.wait(timeout_s)

    def check(self) -> None:
        """Raise Cancelled if the job is."""
        if self.is_set:
            raise Cancelled("This was stopped.")


Work = Callable[[int, CancelToken], ModelsEvent]
"""A job: gets its number and its token, returns the event that ends it; raises SlipstreamError where it fails."""


class JobRunner:
    """A few daemon threads that do jobs in order. Every method may be called from any thread.

    They are daemons, because a job that waits for the network must not hold the program when it ends. Several runners
    may share `numbers`, which jobs are called by.
    """

    def __init__(
        self, emit: Callable[[ModelsEvent], None], n_threads: int, numbers: Iterator[int] | None = None
    ) -> None:
        self._emit = emit
        self._n_threads = n_threads
        self._numbers = numbers if numbers is not None else itertools.count(1)
        self._queue: queue.SimpleQueue[tuple[int, CancelToken, Work] | None] = queue.SimpleQueue()
        self._tokens: dict[int, CancelToken] = {}
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        for index in range(self._n_threads):
            thread = threading.Thread(target=self._serve, name=f"models-{index}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def submit(self, work: Work) -> int:
        """Have `work` done when a thread is free; return its number."""
        job, token = next(self._numbers), CancelToken()
        with self._lock:
            self._tokens[job] = token
        self._queue.put((job, token, work))
        return job

    def cancel(self, job: int) -> None:
        """End `job` now; one that has ended is left alone."""
        with self._lock:
            token = self._tokens.get(job)
        if token is not None:
            token.set()
            self._end(ModelsFailed(job, Cancelled.__name__, "This was stopped."), job)

    def stop(self, timeout_s: float) -> None:
        """Cancel everything and end the threads; one that hangs in a call is left behind."""
        with self._lock:
            tokens, self._tokens = self._tokens, {}
        for token in tokens.values():
            token.set()
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join(timeout_s / max(len(self._threads), 1))
        self._threads.clear()

    def _serve(self) -> None:
        while (item := self._queue.get()) is not None:
            job, token, work = item
            if not token.is_set:
                self._end(_outcome(job, token, work), job)

    def _end(self, event: ModelsEvent, job: int) -> None:
        with self._lock:
            is_first = self._tokens.pop(job, None) is not None
        if is_first:
            self._emit(event)


def _outcome(job: int, token: CancelToken, work: Work) -> ModelsEvent:
    try:
        return work(job, token)
    except SlipstreamError as error:
        return ModelsFailed(job, error.kind, error.sentence, error.remedy, error.detail)
    except Exception as error:  # noqa: BLE001 - a mistake of ours costs one job, told in a sentence
        _log.exception("A job failed")
        return ModelsFailed(
            job, "InternalError", "Something went wrong inside Slipstream.", "Try again.", repr(error)
        )
