"""What on this computer may draft for a model that is here: asked once for each, and kept until files change."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.bridge import ModelsBridge
from engine.models_events import DraftersSuggested, LocalDrafter, ModelsFailed
from engine.models_service import ModelsService


class LocalDrafters(QObject):
    """Answers by the target's path.

    Signals:
        changed(str): what may draft for this target is known now.
    """

    changed = Signal(str)

    def __init__(self, service: ModelsService, bridge: ModelsBridge, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._service = service
        self._known: dict[str, tuple[LocalDrafter, ...]] = {}
        self._jobs: dict[int, str] = {}
        bridge.drafters_suggested.connect(self._on_suggested)
        bridge.failed.connect(self._on_failed)

    def of(self, target: str) -> tuple[LocalDrafter, ...]:
        """Return what is known to be a drafter for `target`, the best first; () before an answer has come."""
        return self._known.get(target, ())

    def is_known(self, target: str) -> bool:
        return target in self._known

    def ask(self, target: str) -> None:
        """Have `changed` follow, unless it is known or on its way."""
        if target and target not in self._known and target not in self._jobs.values():
            self._jobs[self._service.suggest_drafters(target)] = target

    def forget(self) -> None:
        """Other files are here now."""
        self._known.clear()

    def _on_suggested(self, event: DraftersSuggested) -> None:
        if self._jobs.pop(event.job, None) is not None:
            self._known[event.target] = event.drafters
            self.changed.emit(event.target)

    def _on_failed(self, event: ModelsFailed) -> None:
        """A target that cannot be read is told of where it is loaded; whatever is here may be tried then."""
        target = self._jobs.pop(event.job, None)
        if target is not None:
            self._known[target] = ()
            self.changed.emit(target)
