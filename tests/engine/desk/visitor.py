"""Somebody at the desk: asks, and waits for the event that answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from engine.desk.desk import ModelsDesk
from engine.download.progress import DownloadProgress, DownloadState
from engine.models_events import DownloadChanged, ModelsEvent, ModelsFailed

WAIT_S = 60.0
E = TypeVar("E", bound=ModelsEvent)


class Visitor:
    def __init__(self, desk: ModelsDesk) -> None:
        self.desk = desk
        self.events: list[ModelsEvent] = []
        self._news = threading.Condition()
        desk.start(self._take)

    def leave(self) -> None:
        self.desk.stop(5.0)

    def wait(self, kind: type[E], matches: Callable[[E], bool] = lambda _: True) -> E:
        """Return the first event of `kind` that matches."""
        deadline_s = time.monotonic() + WAIT_S
        with self._news:
            while True:
                for event in self.events:
                    if isinstance(event, kind) and matches(event):
                        return event
                assert self._news.wait(deadline_s - time.monotonic()), f"no {kind.__name__}: {self.events}"

    def answer(self, kind: type[E], job: int) -> E:
        """Return the event that ends `job`, which must be of `kind`."""
        end = self._end_of(job)
        assert isinstance(end, kind), end
        return end

    def failure(self, job: int) -> ModelsFailed:
        return self.answer(ModelsFailed, job)

    def downloaded(self, bundle_id: str, state: DownloadState = DownloadState.DONE) -> DownloadProgress:
        """Wait until the last that was told of this download is that it is in `state`."""
        deadline_s = time.monotonic() + WAIT_S
        with self._news:
            while True:
                told = [e.progress for e in self.events if isinstance(e, DownloadChanged)]
                last = next((one for one in reversed(told) if one.id == bundle_id), None)
                if last is not None and last.state is state:
                    return last
                assert self._news.wait(deadline_s - time.monotonic()), f"not {state}: {last}"

    def _end_of(self, job: int) -> ModelsEvent:
        def ends(event: ModelsEvent) -> bool:
            is_progress = type(event).__name__ in ("MeasureProgress", "VerifyProgress")
            return getattr(event, "job", 0) == job and not is_progress

        deadline_s = time.monotonic() + WAIT_S
        with self._news:
            while (end := next((event for event in self.events if ends(event)), None)) is None:
                assert self._news.wait(deadline_s - time.monotonic()), f"job {job} has not ended"
        return end

    def _take(self, event: ModelsEvent) -> None:
        with self._news:
            self.events.append(event)
            self._news.notify_all()
