"""The one place where the engine's events become Qt signals.

Events arrive on threads of the engine. They are kept in order and handed over on the window's thread about thirty
times a second; rounds that arrived together travel in one signal, and of what a download told only the last counts,
so a widget repaints once for all of them.
"""

from __future__ import annotations

import threading
from collections import deque

from PySide6.QtCore import QElapsedTimer, QObject, Qt, QTimer, Signal, SignalInstance, Slot

from engine.models_events import (
    BudgetMade,
    ComputerMeasured,
    ConnectionChanged,
    DownloadChanged,
    DraftersSuggested,
    FoldersChanged,
    HubRepoOpened,
    HubSearched,
    MeasureProgress,
    ModelRemoved,
    ModelsEvent,
    ModelsFailed,
    ModelVerified,
    OffersListed,
    TokenChecked,
    VerifyProgress,
)
from engine.models_service import ModelsService
from engine.service import EngineService, Reloading, ServiceEvent, WorkerAnswers, WorkerLost, WorkerSilent
from engine.worker.messages import (
    DevicesListed,
    Failed,
    Finished,
    LaneFinished,
    Loaded,
    LoadProgress,
    LogLine,
    MemoryChanged,
    Pong,
    Ready,
    RoundDone,
    Started,
    Unloaded,
)

FRAME_MS = 33
MOST_PER_FRAME = 120
"""More than thirty times a second as many events as any model gives; a burst is spread over frames."""


class _FrameQueue(QObject):
    """Takes events on any thread and has `_deliver` called with them on the window's, once a frame."""

    _arrived = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._queue: deque[object] = deque()
        self._lock = threading.Lock()
        self._awake = False
        self._since_drain = QElapsedTimer()
        self._since_drain.start()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._drain)
        self._arrived.connect(self._schedule, Qt.ConnectionType.QueuedConnection)

    def _put(self, event: object) -> None:
        """Keep `event` for the window's thread; called on any thread."""
        with self._lock:
            self._queue.append(event)
            wake, self._awake = not self._awake, True
        if wake:
            self._arrived.emit()

    @Slot()
    def _schedule(self) -> None:
        if not self._timer.isActive():
            self._timer.start(max(0, FRAME_MS - int(self._since_drain.elapsed())))

    @Slot()
    def _drain(self) -> None:
        """Hand over what has arrived until now; what arrives meanwhile waits for the next frame."""
        self._since_drain.restart()
        self._deliver([self._queue.popleft() for _ in range(min(len(self._queue), MOST_PER_FRAME))])
        with self._lock:
            self._awake = bool(self._queue)
        if self._awake:
            self._schedule()

    def _deliver(self, events: list[object]) -> None:
        raise NotImplementedError


class EngineBridge(_FrameQueue):
    """Signals of the engine, on the window's thread.

    Signals:
        rounds_done(int, tuple[RoundDone, ...]): job and its rounds since the last time, in order.
        others: the event itself.
    """

    ready = Signal(object)
    load_progressed = Signal(object)
    loaded = Signal(object)
    memory_changed = Signal(object)
    unloaded = Signal(object)
    devices_listed = Signal(object)
    started = Signal(object)
    rounds_done = Signal(int, object)
    lane_finished = Signal(object)
    finished = Signal(object)
    failed = Signal(object)
    worker_lost = Signal(object)
    reloading = Signal(object)
    worker_silent = Signal(object)
    worker_answers = Signal(object)
    log_line = Signal(object)

    def __init__(self, service: EngineService, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._service = service
        self._signals: dict[type[object], SignalInstance] = {
            Ready: self.ready,
            LoadProgress: self.load_progressed,
            Loaded: self.loaded,
            MemoryChanged: self.memory_changed,
            Unloaded: self.unloaded,
            DevicesListed: self.devices_listed,
            Started: self.started,
            LaneFinished: self.lane_finished,
            Finished: self.finished,
            Failed: self.failed,
            WorkerLost: self.worker_lost,
            Reloading: self.reloading,
            WorkerSilent: self.worker_silent,
            WorkerAnswers: self.worker_answers,
            LogLine: self.log_line,
        }

    def start(self) -> None:
        """Start the engine; its first event is Ready."""
        self._service.start(self._take)

    def _take(self, event: ServiceEvent) -> None:
        if not isinstance(event, Pong):
            self._put(event)

    def _deliver(self, events: list[object]) -> None:
        batch: list[RoundDone] = []
        for event in events:
            if isinstance(event, RoundDone) and (not batch or batch[0].job == event.job):
                batch.append(event)
                continue
            self._flush(batch)
            if isinstance(event, RoundDone):
                batch.append(event)
            elif (signal := self._signals.get(type(event))) is not None:
                signal.emit(event)
        self._flush(batch)

    def _flush(self, batch: list[RoundDone]) -> None:
        if batch:
            self.rounds_done.emit(batch[0].job, tuple(batch))
            batch.clear()


class ModelsBridge(_FrameQueue):
    """Signals of the models' facade, on the window's thread; each hands on the event itself.

    Of the events of one download that arrive in one frame, the last is handed on.
    """

    offers_listed = Signal(object)
    hub_searched = Signal(object)
    repo_opened = Signal(object)
    drafters_suggested = Signal(object)
    budget_made = Signal(object)
    measure_progressed = Signal(object)
    measured = Signal(object)
    download_changed = Signal(object)
    removed = Signal(object)
    verified = Signal(object)
    verify_progressed = Signal(object)
    token_checked = Signal(object)
    folders_changed = Signal(object)
    connection_changed = Signal(object)
    failed = Signal(object)

    def __init__(self, service: ModelsService, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._service = service
        self._signals: dict[type[object], SignalInstance] = {
            OffersListed: self.offers_listed,
            HubSearched: self.hub_searched,
            HubRepoOpened: self.repo_opened,
            DraftersSuggested: self.drafters_suggested,
            BudgetMade: self.budget_made,
            MeasureProgress: self.measure_progressed,
            ComputerMeasured: self.measured,
            DownloadChanged: self.download_changed,
            ModelRemoved: self.removed,
            ModelVerified: self.verified,
            VerifyProgress: self.verify_progressed,
            TokenChecked: self.token_checked,
            FoldersChanged: self.folders_changed,
            ConnectionChanged: self.connection_changed,
            ModelsFailed: self.failed,
        }

    def start(self) -> None:
        """Start the facade; what was being downloaded when Slipstream ended is told first."""
        self._service.start(self._take)

    def _take(self, event: ModelsEvent) -> None:
        self._put(event)

    def _deliver(self, events: list[object]) -> None:
        last = {event.progress.id: event for event in events if isinstance(event, DownloadChanged)}
        for event in events:
            if isinstance(event, DownloadChanged) and event is not last[event.progress.id]:
                continue
            if (signal := self._signals.get(type(event))) is not None:
                signal.emit(event)
