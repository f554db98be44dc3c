"""What the models' facade has to know of the engine: what is loaded, and how fast races were."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.pages.compare_run import CompareRun
from app.session import EngineSession
from engine.models_service import ModelsService
from engine.recommend.races import telling_speeds
from engine.worker.messages import Loaded, MemoryChanged, Ready


class EngineNotes(QObject):
    """Hears the engine and tells the facade."""

    def __init__(
        self, service: ModelsService, session: EngineSession, run: CompareRun, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._service = service
        self._run = run
        self._worker_pid = 0
        bridge = session.bridge
        bridge.ready.connect(self._on_ready)
        bridge.loaded.connect(self._on_memory)
        bridge.memory_changed.connect(self._on_memory)
        bridge.unloaded.connect(lambda _: self._service.note_loaded(self._worker_pid, {}))
        bridge.worker_lost.connect(lambda _: self._service.note_loaded(0, {}))
        run.ended.connect(self._on_race)

    def _on_ready(self, event: Ready) -> None:
        self._worker_pid = event.pid

    def _on_memory(self, event: Loaded | MemoryChanged) -> None:
        self._service.note_loaded(self._worker_pid, event.memory_bytes)

    def _on_race(self) -> None:
        """Remember a race that tells how fast both lanes are here."""
        race = self._run.race
        if race is None:
            return
        speeds = telling_speeds(*(lane.metrics for lane in race.lanes))
        if speeds is not None:
            self._service.remember_race(race.bundle, *speeds)
