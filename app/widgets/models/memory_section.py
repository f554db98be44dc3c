"""What the bundle takes at each context length: bars, slider, and the choice of speed or context."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app import fonts
from app.format import context, count, memory_size, share
from app.models import words
from app.models.actions import WhyNot
from app.models.budgets import Budgets
from app.models.memory import bars_of, kept_words, legend_of, table_of
from app.models.subject import Subject
from app.trouble import Trouble
from app.widgets.busy_strip import BusyStrip
from app.widgets.models.context_slider import ContextSlider
from app.widgets.models.disclosure import Disclosure
from app.widgets.models.memory_bar import MemoryBar, MemoryLegend
from app.widgets.models.speed_or_context import SpeedOrContextBox
from app.widgets.models.table import Table
from app.widgets.notice import Notice, Remedy
from app.widgets.parts import label
from engine.budget.budget import Budget, ContextBudget, KvType, Segment
from engine.models_service import BudgetRequest

_USUAL_N_CTX = 8192
_PAUSE_MS = 150
_DRAFTERS_SEGMENTS = (Segment.DRAFTER_WEIGHTS, Segment.DRAFTER_KV, Segment.DRAFTER_COMPUTE)


class MemorySection(QWidget):
    """Asks for the budget of what is shown, and shows it at the context that is picked.

    Signals:
        n_ctx_changed(int): another context is picked.
        without_drafter: the person would rather have the longer context.
        gated: the Hub asks for consent before it can be told.
        choice_due: there is a choice to make between speed and context.
        said(str): what was found, for a screen reader.
    """

    n_ctx_changed = Signal(int)
    without_drafter = Signal()
    said = Signal(str)
    choice_due = Signal()
    gated = Signal()

    def __init__(self, budgets: Budgets, why_not: WhyNot) -> None:
        super().__init__()
        self._budgets = budgets
        self._why_not = why_not
        self._request: BudgetRequest | None = None
        self._subject = Subject()
        self._kv_type = KvType.F16
        self._wished = _USUAL_N_CTX
        # Who runs down the list with the arrows does not want to know it of every row.
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(_PAUSE_MS)
        self._later.timeout.connect(self._again)
        self._total = label(font=fonts.tabular(fonts.body()), wraps=True)
        self.busy = BusyStrip()
        self.busy.cancelled.connect(self._give_up)
        self._shown_id = self._given_up = ""
        self._why = label(tone="muted", font=fonts.small(), wraps=True)
        self.bars = [MemoryBar(), MemoryBar(), MemoryBar(), MemoryBar()]
        self.legend = MemoryLegend()
        self.slider = ContextSlider()
        self.choice = SpeedOrContextBox()
        self.notice = Notice()
        self.table = Table()
        self.details = Disclosure("Every byte", self.table)
        self._lay_out()
        self.slider.changed.connect(self._on_slider)
        self.choice.speed_chosen.connect(self.wish)
        self.choice.context_chosen.connect(self._on_context_chosen)
        budgets.changed.connect(self._on_answer)

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self._total)
        column.addWidget(self.busy)
        column.addWidget(self.notice)
        for bar in self.bars:
            column.addWidget(bar)
        column.addWidget(self.legend)
        caption = QHBoxLayout()
        self._caption = label("Context", tone="muted", font=fonts.small())
        self._caption.setBuddy(self.slider)
        caption.addWidget(self._caption)
        column.addLayout(caption)
        column.addWidget(self.slider)
        column.addWidget(self.choice)
        column.addWidget(self._why)
        column.addWidget(self.details)

    @property
    def n_ctx(self) -> int:
        """Return the context that is picked, in tokens; 0 while nothing is known."""
        return self.slider.n_ctx if self._budget is not None else 0

    @property
    def fits(self) -> bool:
        """Whether what is picked fits, as far as is known."""
        at = self._at
        return at is None or at.fits

    @property
    def words(self) -> str:
        return self._total.text()

    @property
    def _budget(self) -> Budget | None:
        return self._budgets.known(self._request) if self._request is not None else None

    @property
    def _at(self) -> ContextBudget | None:
        return self._budget.at(self.slider.n_ctx, self._kv_type) if self._budget is not None else None

    def show_subject(self, subject: Subject, kv_type: KvType, *, race: bool) -> None:
        """Show what `subject` takes; asks first where that is not known."""
        self._subject, self._kv_type = subject, kv_type
        request = _request(subject, kv_type, race=race)
        if self._request is not None and self._request != request:
            self._budgets.leave_off(self._request)
        self._request = request
        if subject.id != self._given_up:
            self._given_up = ""
        if request is not None and self._budgets.known(request) is None and not self._given_up:
            self._later.start()
        self._show()

    def wish(self, n_ctx: int) -> None:
        """Stand at `n_ctx` tokens, or as near as is offered."""
        self._wished = n_ctx
        self._show()
        self.n_ctx_changed.emit(self.slider.n_ctx)

    def _on_slider(self, n_ctx: int) -> None:
        self._wished = n_ctx
        self._show()
        self.n_ctx_changed.emit(n_ctx)

    def _on_context_chosen(self, n_ctx: int) -> None:
        self._wished = n_ctx
        self.without_drafter.emit()

    def _on_answer(self, request: BudgetRequest) -> None:
        if request == self._request:
            self._show()
            self.said.emit(self._total.text())

    def _show(self) -> None:
        budget = self._budget
        trouble = self._budgets.trouble(self._request) if self._request is not None else None
        is_waiting = budget is None and trouble is None and self._request is not None
        # Numbers stay, paler, until those for another way to load the same model come: nothing jumps.
        keeps = is_waiting and self._shown_id == self._subject.id
        for widget in (*self.bars, self.legend):
            widget.setEnabled(not keeps)
        if not keeps:
            self._show_parts(budget is not None)
        self.notice.hide()
        self.choice.hide()
        is_held = is_waiting and self._budgets.is_held
        self.busy.set_busy(is_waiting and not (keeps or is_held) and self._given_up != self._subject.id)
        if budget is not None:
            self._shown_id, self._given_up = self._subject.id, ""
            self._show_budget(budget)
        elif self._request is None:
            self._total.setText("What it takes cannot be told before a version is picked.")
        elif trouble is not None:
            self._show_trouble(trouble)
        elif self._given_up == self._subject.id:
            self._show_given_up()
        elif is_held:
            self._total.setText(
                "What it takes is worked out when the measurement on the Tune page has ended."
            )
        elif keeps:
            self._total.setText("Working out what that takes…")
        else:
            remote = self._request.remote is not None
            how = "Reading the model's header from the Hub" if remote else "Reading the model's header"
            self._total.setText(f"{how} to work out what it takes…")

    def _show_parts(self, shown: bool) -> None:
        if not shown:
            self._shown_id = ""
        for widget in (*self.bars, self.legend, self.slider, self._caption, self.details, self._why):
            widget.setVisible(shown)

    def _give_up(self) -> None:
        self._later.stop()
        if self._request is not None:
            self._budgets.leave_off(self._request)
        self._given_up = self._subject.id
        self._show()

    def _show_given_up(self) -> None:
        self._total.setText("What it takes was not worked out.")
        self.notice.tell(Trouble("You cancelled it."), Remedy("Work it out", self._again), tone="plain")

    def _show_nothing(self, sentence: str) -> None:
        """Say why this precision cannot be had: there are no numbers."""
        self._show_parts(False)
        self._total.setText(sentence)

    def _show_trouble(self, trouble: Trouble) -> None:
        if trouble.is_gate:
            self._total.setText("What it takes can be told once the Hub gives access.")
            self.gated.emit()
            return
        if trouble.is_offline:
            # The page says so already, and has the button.
            self._total.setText("What it takes is not known while the Hub cannot be reached.")
            return
        self._total.setText("What it takes is not known.")
        self.notice.tell(trouble, Remedy("Try again", self._again), tone="plain")

    def _again(self) -> None:
        self._given_up = ""
        if self._request is not None:
            self._budgets.ask(self._request)
            self._show()

    def _show_budget(self, budget: Budget) -> None:
        contexts = tuple(one.n_ctx for one in budget.contexts if one.kv_type is self._kv_type)
        largest = budget.largest_fit.get(self._kv_type, 0)
        self.slider.set_contexts(contexts, largest, self._wished)
        at = self._at
        if at is None:
            self._show_nothing(budget.unfit.get(self._kv_type, "What it takes is not known."))
            return
        bars = bars_of(budget, at)
        for i, widget in enumerate(self.bars):
            widget.setVisible(i < len(bars))
            if i < len(bars):
                widget.set_bar(bars[i])
        self.legend.set_parts(legend_of(bars))
        about = "≈ " if budget.is_estimate else ""
        until = "fits at every length" if contexts and largest >= contexts[-1] else words.fits_until(largest)
        kept = kept_words(at.segment_bytes(Segment.RESERVE))
        self._total.setText(
            f"{about}{memory_size(at.total_bytes)} with a context of {count(at.n_ctx, 'token')},{kept} · {until}"
        )
        self._why.setText(_why(budget, at, can_draft=not self._why_not(self._subject.picked_drafter.kind)))
        self._why.setVisible(bool(self._why.text()))
        self.table.set_rows(table_of(at))
        self._caption.setText(f"Context: {context(at.n_ctx)}")
        if self.choice.offer(budget, at, self._subject.advice):
            self.choice_due.emit()


def _request(subject: Subject, kv_type: KvType, *, race: bool) -> BudgetRequest | None:
    bundle = subject.bundle
    remote = None if bundle is not None else subject.remote
    if bundle is None and remote is None:
        return None
    return BudgetRequest(bundle, remote, kv_types=(kv_type,), race=race)


def _why(budget: Budget, at: ContextBudget, *, can_draft: bool) -> str:
    """Return what the numbers rest on, and what does not fit on the GPU."""
    lines = []
    if budget.is_estimate:
        lines.append(
            f"≈: estimated from facts about the model; it may be {share(budget.error_fraction)} off until its "
            "header can be read."
        )
    if budget.n_gpu_layers_that_fit is not None and budget.n_gpu_layers_that_fit >= 0:
        lines.append(
            f"{budget.n_gpu_layers_that_fit} of {count(budget.n_layers, 'layer')} fit on the GPU; "
            "the others run on the processor, which is slower."
        )
    if not can_draft and any(at.segment_bytes(one) for one in _DRAFTERS_SEGMENTS):
        lines.append("Its drafter is counted in, though this build of llama.cpp cannot run it.")
    return " ".join(lines)
