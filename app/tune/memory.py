"""What the drafter of a measured bundle takes of memory, and of the context: asked as the Models page asks it."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.models.budgets import Budgets
from app.session import EngineSession
from engine.bench.advice import drafter_memory
from engine.bench.results import DrafterMemory
from engine.budget.budget import USABLE_N_CTX
from engine.models.bundle import Bundle
from engine.models_service import BudgetRequest


class MemoryOfDrafter(QObject):
    """Signals:
    told: an answer came.
    """

    told = Signal()

    def __init__(self, session: EngineSession, budgets: Budgets, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._budgets = budgets
        self._asked: BudgetRequest | None = None
        budgets.changed.connect(self._on_changed)

    def of(self, bundle: Bundle, *, ask: bool) -> DrafterMemory | None:
        """Return what is known of the drafter of `bundle`; with `ask`, `told` follows where nothing is yet."""
        if not bundle.drafter.kind.has_weights:
            return DrafterMemory(0)
        kv_type = self._session.kv_type
        request = BudgetRequest(bundle, kv_types=(kv_type,))
        budget = self._budgets.known(request)
        if budget is None and ask and self._budgets.trouble(request) is None:
            self._asked = request
            budget = self._budgets.ask(request)
        if budget is None:
            return None
        largest = max((one.n_ctx for one in budget.contexts), default=0)
        return drafter_memory(budget, min(self._session.n_ctx or USABLE_N_CTX, largest), kv_type)

    def _on_changed(self, request: BudgetRequest) -> None:
        if request == self._asked:
            self._asked = None
            self.told.emit()
