"""The choice where model and drafter do not both fit at the wished context: faster, or longer."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from app import fonts
from app.format import context, speed_range
from app.widgets.flow import FlowLayout
from app.widgets.parts import button, label
from engine.budget.budget import Budget, ContextBudget
from engine.recommend.advice import Advice, SpeedRange

_HARD_SPACE = "\u00a0"


class SpeedOrContextBox(QFrame):
    """Hidden unless there is something to choose. Both sides are shown with their numbers; none is taken for the
    person.

    Signals:
        speed_chosen(int): keep the drafter, with so many tokens of context.
        context_chosen(int): leave the drafter out, for so many tokens of context.
    """

    speed_chosen = Signal(int)
    context_chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "notice")
        self.setProperty("tone", "plain")
        self._with = self._without = 0
        self._title = label("Speed or context?", font=fonts.strong())
        self._lesson = label(wraps=True)
        self.speed = button("Keep the drafter")
        self.context = button("Leave it out")
        self.speed.clicked.connect(lambda: self.speed_chosen.emit(self._with))
        self.context.clicked.connect(lambda: self.context_chosen.emit(self._without))
        buttons = QWidget()
        row = FlowLayout(buttons, gap_px=8, line_px=8)
        row.addWidget(self.speed)
        row.addWidget(self.context)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 10, 12, 12)
        column.setSpacing(6)
        column.addWidget(self._title)
        column.addWidget(self._lesson)
        column.addWidget(buttons)
        self.hide()

    @property
    def words(self) -> str:
        return self._lesson.text().replace(_HARD_SPACE, " ")

    def offer(self, budget: Budget, at: ContextBudget, advice: Advice | None) -> bool:
        """Show the choice where `at` does not fit with the drafter and would reach further without it; return
        whether it is shown.
        """
        choice = budget.speed_or_context
        is_due = (
            choice is not None and not at.fits and choice.n_ctx_without_drafter > choice.n_ctx_with_drafter
        )
        self.setVisible(is_due)
        if choice is None or not is_due:
            return False
        self._with, self._without = choice.n_ctx_with_drafter, choice.n_ctx_without_drafter
        fast = _words(advice.speculative if advice else None)
        slow = _words(advice.plain if advice else None)
        reach = f"up to {context(self._with)}" if self._with else "at no length"
        self._lesson.setText(
            f"At {context(at.n_ctx)} there is no room for model and drafter. With the drafter it fits {reach}"
            f"{fast}; without it up to {context(self._without)}{slow}."
        )
        self.speed.setVisible(self._with > 0)
        self.speed.set_words(f"Keep the drafter, {context(self._with)}")
        self.context.set_words(f"Leave it out, {context(self._without)}")
        return True


def _words(speed: SpeedRange | None) -> str:
    if speed is None:
        return ""
    about = "" if speed.is_measured else f"≈{_HARD_SPACE}"
    return f", {about}{speed_range(speed.low_tokens_per_s, speed.high_tokens_per_s)}{_HARD_SPACE}tok/s"
