"""What each bundle takes: asked once for each way to load it, and kept while the window lives."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.bridge import ModelsBridge
from app.trouble import Trouble, trouble_of
from engine.budget.budget import Budget
from engine.models_events import BudgetMade, ModelsFailed
from engine.models_service import BudgetRequest, ModelsService

_MOST_KEPT = 64


class Budgets(QObject):
    """Answers by request.

    Signals:
        changed(BudgetRequest): its answer or its failure came.
    """

    changed = Signal(object)

    def __init__(self, service: ModelsService, bridge: ModelsBridge, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._service = service
        self._made: dict[BudgetRequest, Budget] = {}
        self._troubles: dict[BudgetRequest, Trouble] = {}
        self._jobs: dict[int, BudgetRequest] = {}
        self._held: dict[BudgetRequest, None] | None = None
        bridge.budget_made.connect(self._on_made)
        bridge.failed.connect(self._on_failed)

    def ask(self, request: BudgetRequest) -> Budget | None:
        """Return the answer to `request` if it is known; else ask, and `changed` follows."""
        if self._held is not None:
            self._held[request] = None
        elif request not in self._made and request not in self._jobs.values():
            self._troubles.pop(request, None)
            self._jobs[self._service.budget(request)] = request
        return self._made.get(request)

    @property
    def is_held(self) -> bool:
        return self._held is not None

    def hold(self, is_held: bool) -> None:
        """Ask nothing while something is measured, which a process beside it would falsify; catch up afterwards."""
        if is_held == self.is_held:
            return
        waiting, self._held = self._held or {}, {} if is_held else None
        for request in waiting:
            self.ask(request)

    def known(self, request: BudgetRequest) -> Budget | None:
        return self._made.get(request)

    def trouble(self, request: BudgetRequest) -> Trouble | None:
        return self._troubles.get(request)

    def forget(self) -> None:
        """Free memory is not what it was: what is asked from now on is asked anew."""
        self._made.clear()

    def leave_off(self, request: BudgetRequest) -> None:
        """Cancel `request` if it is under way: nobody looks at it any more."""
        if self._held is not None:
            self._held.pop(request, None)
        for job, other in list(self._jobs.items()):
            if other == request:
                del self._jobs[job]
                self._service.cancel(job)

    def _on_made(self, event: BudgetMade) -> None:
        request = self._jobs.pop(event.job, None)
        if request is None:
            return
        while len(self._made) >= _MOST_KEPT:
            del self._made[next(iter(self._made))]
        self._made[request] = event.budget
        self.changed.emit(request)

    def _on_failed(self, event: ModelsFailed) -> None:
        request = self._jobs.pop(event.job, None)
        if request is None:
            return
        trouble = trouble_of(event)
        if not trouble.is_cancel:
            self._troubles[request] = trouble
        self.changed.emit(request)
