"""What a bench found: the proposal with Apply, the chart beside the table, and whether it is worth enabling."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QButtonGroup, QFrame, QHBoxLayout, QMenu, QVBoxLayout

from app import fonts
from app.tune import words
from app.tune.summary import FIGURE_WORDS, Figure, headline, kind_words, kinds_of
from app.tune.words import circumstances, left_out_words
from app.widgets.parts import button, label, rule, set_tone
from app.widgets.tune.chart import SpeedupChart
from app.widgets.tune.figures_table import FiguresTable
from engine.bench.plan import OFF, mode_phrase
from engine.bench.results import BenchResult

_SIDE_BY_SIDE_FROM_PX = 1080
SHARED = (
    ("Copy as Markdown", "markdown"),
    ("Copy as JSON", "json"),
    ("Copy as picture", "picture"),
    ("Save as picture (PNG)…", ".png"),
    ("Save as Markdown…", ".md"),
    ("Save as JSON…", ".json"),
)


class ResultView(QFrame):
    """Signals:
    apply_asked(str): the proposed mode is to be used.
    share_asked(str): one of SHARED.
    kind_chosen(str): the kind of text whose row is looked at, "" for all together.
    """

    apply_asked = Signal(str)
    share_asked = Signal(str)
    kind_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "pane")
        self._best = ""
        self._headline = label(font=fonts.tabular(fonts.heading()), wraps=True)
        self.apply = button("Apply", role="primary", icon_name="check", tip=words.APPLY_TIP)
        self.apply.clicked.connect(lambda: self.apply_asked.emit(self._best))
        self.share = button("Share result", icon_name="copy", tip="Copy or save the result card")
        self.share.clicked.connect(self._open_menu)
        self._applied = label(tone="accent", font=fonts.small(), wraps=True)
        self._facts = label(tone="muted", font=fonts.small(), wraps=True)
        self._left_out = label(tone="warning", font=fonts.small(), wraps=True)
        self.chart = SpeedupChart()
        self.table = FiguresTable()
        self.table.chosen.connect(self._on_row)
        self._kinds: dict[str, str] = {}
        self._row = ""
        self._advice_title = label("Is it worth enabling?", font=fonts.strong())
        self._advice = label(wraps=True)
        self._kind_advice = label(wraps=True)
        for part in (self._advice_title, self._advice, self._kind_advice):
            part.setToolTip(words.ADVICE_TIP)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 16, 12)
        column.setSpacing(8)
        column.addLayout(self._top_row())
        column.addWidget(self._applied)
        column.addWidget(self._facts)
        column.addWidget(self._left_out)
        column.addWidget(rule())
        column.addLayout(self._figures_row())
        column.addWidget(self._advice_title)
        column.addWidget(self._advice)
        column.addWidget(self._kind_advice)

    def _top_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(12)
        row.addWidget(self._headline, 1)
        row.addWidget(self.share)
        row.addWidget(self.apply)
        return row

    def _figures_row(self) -> QBoxLayout:
        side = QVBoxLayout()
        side.setSpacing(8)
        side.addLayout(self._figure_chips())
        side.addWidget(self.table)
        side.addStretch()
        self._middle = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._middle.setSpacing(24)
        self._middle.addWidget(self.chart, 1)
        self._middle.addLayout(side, 1)
        return self._middle

    def _figure_chips(self) -> QHBoxLayout:
        self._chips = QButtonGroup(self)
        self._chips.setExclusive(True)
        row = QHBoxLayout()
        row.setSpacing(6)
        for figure in Figure:
            chip = button(FIGURE_WORDS[figure], role="chip", tip=words.FIGURE_TIPS[figure])
            chip.setCheckable(True)
            chip.setChecked(figure is Figure.SPEEDUP)
            chip.setFont(fonts.small())
            chip.clicked.connect(lambda _=False, figure=figure: self.table.show_figure(figure))
            self._chips.addButton(chip)
            row.addWidget(chip)
        row.addStretch()
        return row

    @property
    def sentence(self) -> str:
        return self._headline.text()

    @property
    def left_out(self) -> str:
        return self._left_out.text()

    @property
    def advice(self) -> str:
        return self._advice.text()

    @property
    def kind(self) -> str:
        """The kind of text whose row is looked at, "" for all together."""
        return self._kinds.get(self._row, "")

    @property
    def kind_advice(self) -> str:
        return self._kind_advice.text()

    @property
    def applied(self) -> str:
        return self._applied.text()

    def show_result(self, result: BenchResult, *, advice: str, is_running: bool) -> None:
        """Show `result`; while the bench is running nothing can be applied or shared yet."""
        best = result.proposed_mode
        self._best = best.mode if best is not None else ""
        self._headline.setText(headline(result))
        set_tone(self._headline, "muted" if is_running or best is None else "")
        self._facts.setText(circumstances(result))
        left_out = left_out_words(result)
        self._left_out.setText(left_out)
        self._left_out.setVisible(bool(left_out))
        self.chart.show_result(result)
        self.table.show_result(result)
        self._kinds = {kind_words(kind): kind for kind in kinds_of(result)}
        self.apply.setVisible(bool(self._best) and not is_running)
        self.apply.set_words(_apply_words(self._best))
        self.share.setVisible(bool(result.figures) and not is_running)
        self._advice.setText(advice)
        for part in (self._advice, self._advice_title):
            part.setVisible(bool(advice) and not is_running)
        self.show_kind_advice("")

    def show_kind_advice(self, advice: str) -> None:
        """Say below the advice what holds for the kind of text that is looked at; "" for nothing."""
        self._kind_advice.setText(advice)
        self._kind_advice.setVisible(bool(advice))

    def _on_row(self, name: str) -> None:
        self.chart.choose(name)
        self._row = name
        self.kind_chosen.emit(self.kind)

    def show_applied(self, sentence: str) -> None:
        """Say what was taken over; "" for nothing."""
        self._applied.setText(sentence)
        self._applied.setVisible(bool(sentence))

    def _open_menu(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for said, form in SHARED:
            menu.addAction(said, partial(self.share_asked.emit, form))
        menu.popup(self.share.mapToGlobal(QPoint(0, self.share.height() + 4)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        stacked = self.width() < _SIDE_BY_SIDE_FROM_PX
        direction = QBoxLayout.Direction.TopToBottom if stacked else QBoxLayout.Direction.LeftToRight
        if self._middle.direction() != direction:
            self._middle.setDirection(direction)


def _apply_words(mode: str) -> str:
    """Return what the button that takes `mode` over says."""
    if not mode:
        return "Apply"
    return "Guess nothing" if mode == OFF else f"Use {mode_phrase(mode)}"
