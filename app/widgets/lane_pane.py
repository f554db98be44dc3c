"""One lane of the comparison: its figures, its progress, its text, and under a speculative one what the
drafts gave.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QStackedWidget, QVBoxLayout

from app import fonts, words
from app.format import NOTHING_YET, count, duration, ratio, share, tokens_per_s
from app.widgets.figure import BigFigure, Figure
from app.widgets.legend import Legend
from app.widgets.parts import TintedButton, button, label, rule
from app.widgets.position_chart import PositionChart
from app.widgets.progress_line import ProgressLine
from app.widgets.time_bar import TimeBar
from app.widgets.token_view import TokenView
from engine.measure.metrics import Metrics
from engine.speculation.round import FinishReason, Round

_TITLE_ROW_PX = 28
_ENDINGS = {
    FinishReason.STOP: "finished",
    FinishReason.LENGTH: "reached the length",
    FinishReason.CANCELLED: "stopped",
}


class LanePane(QFrame):
    """Shows the rounds and the metrics that it is given.

    Signals:
        colours_toggled(bool): the legend's switch.
    """

    colours_toggled = Signal(bool)

    def __init__(self, title: str, lesson: str, *, speculative: bool, coloured: bool = True) -> None:
        super().__init__()
        self.setProperty("role", "pane")
        self._speculative = speculative
        self._difference_at = 0
        self.view = TokenView(f"Answer {title.lower()}", coloured=coloured and speculative)
        self._progress = ProgressLine(title, "accent" if speculative else "muted")
        self._state = label(tone="muted", font=fonts.small())
        self._difference = self._difference_button()
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 16, 12)
        column.setSpacing(8)
        column.addLayout(self._title_row(title, coloured))
        column.addLayout(self._figures_row())
        column.addWidget(self._progress)
        column.addWidget(self._text(lesson), 1)
        column.addWidget(rule())
        column.addLayout(self._pass_row())

    def _title_row(self, title: str, coloured: bool) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addStrut(_TITLE_ROW_PX)
        row.addWidget(label(title, font=fonts.title()))
        row.addWidget(self._state, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addStretch()
        row.addWidget(self._difference)
        if self._speculative:
            legend = Legend(shown=coloured)
            legend.toggled.connect(self.view.set_coloured)
            legend.toggled.connect(self.colours_toggled)
            row.addWidget(legend)
        return row

    def _difference_button(self) -> TintedButton:
        one = button(
            "first difference", role="quiet", tip="Show the first token in which the two answers differ"
        )
        one.setFont(fonts.small())
        one.clicked.connect(lambda: self.view.show_token(self._difference_at))
        one.hide()
        return one

    def _figures_row(self) -> QHBoxLayout:
        self.speed = BigFigure("Speed", "tok/s", words.SPEED)
        self.first_token = Figure("First token", words.FIRST_TOKEN, widest="00.00 s")
        self.per_token = Figure("Per token", words.PER_TOKEN, widest="000 ms")
        self.tokens = Figure("Tokens", words.TOKENS, widest="00000")
        row = QHBoxLayout()
        row.setSpacing(16)
        row.addWidget(self.speed)
        row.addStretch()
        for figure in (self.first_token, self.per_token, self.tokens):
            row.addWidget(figure)
        return row

    def _text(self, lesson: str) -> QStackedWidget:
        lines = label(lesson, tone="muted", wraps=True)
        lines.setAlignment(Qt.AlignmentFlag.AlignCenter)
        lines.setContentsMargins(24, 0, 24, 0)
        self._lesson: QLabel = lines
        self._stack = QStackedWidget()
        self._stack.addWidget(lines)
        self._stack.addWidget(self.view)
        return self._stack

    def _pass_row(self) -> QHBoxLayout:
        """What the passes gave; both lanes have it, so that their texts are equally tall and can be read side
        by side.
        """
        self.passes = Figure("Passes", words.PASSES, widest="00000")
        self.acceptance = Figure("Accepted", words.ACCEPTANCE, widest="100 %")
        self.per_pass = Figure("Per pass", words.PER_PASS, widest="00.00")
        self.positions = PositionChart()
        self.times = TimeBar()
        row = QHBoxLayout()
        row.setSpacing(12)
        shown = (self.passes, self.per_pass, self.acceptance, self.positions)
        for widget in shown if self._speculative else shown[:2]:
            row.addWidget(widget, 0, Qt.AlignmentFlag.AlignBottom)
        row.addWidget(self.times, 1)
        self.times.setMinimumHeight(self.positions.sizeHint().height())
        return row

    def start_over(self, state: str = "") -> None:
        """Empty the pane; `state` is a word about what it waits for, "" shows the lesson."""
        self.view.start_over()
        self._difference.hide()
        self._progress.set_progress(0.0)
        self._state.setText(state)
        self._state.show()
        self.show_metrics(Metrics())
        self._stack.setCurrentWidget(self.view if state else self._lesson)

    def show_reading(self, n_done: int, n_prompt: int) -> None:
        """The prompt is being read: `n_done` of `n_prompt` tokens."""
        self._progress.set_progress(n_done / n_prompt if n_prompt else 0.0, reading=True)
        self._state.setText("reads the prompt")

    def add(self, rounds: Sequence[Round]) -> None:
        self._stack.setCurrentWidget(self.view)
        self.view.append_rounds(rounds)

    def show_progress(self, fraction: float) -> None:
        self._progress.set_progress(fraction)
        self._state.setText("")

    def show_finished(self, reason: FinishReason | None, tail: str) -> None:
        """The lane has ended for `reason`; None: it was cut off."""
        self.view.append_tail(tail)
        self._state.setText(_ENDINGS[reason] if reason else "cut off")

    def show_metrics(self, metrics: Metrics) -> None:
        """Show the figures; every one of them is folded from the lane's rounds."""
        self.speed.set_value(tokens_per_s(metrics.tokens_per_s))
        self.first_token.set_value(duration(metrics.ttft_s))
        self.per_token.set_value(duration(metrics.tpot_s))
        self.tokens.set_value(str(metrics.n_tokens) if metrics.n_tokens else NOTHING_YET)
        self.passes.set_value(str(metrics.rounds) if metrics.rounds else NOTHING_YET)
        self.per_pass.set_value(ratio(metrics.mean_accepted_length))
        self.acceptance.set_value(share(metrics.acceptance_rate))
        self.positions.set_counts(metrics.accepted_by_position, metrics.drafted_by_position)
        self.times.set_times(metrics.draft_s, metrics.verify_s, metrics.decode_s)

    def show_difference(self, index: int, gap: float | None) -> None:
        """Mark token `index`; a click on the words scrolls to it. `gap` is the distance of the two logits
        there, None where it was not measured.
        """
        self.view.mark_token(index)
        self._difference.setText(f"≠ token {index + 1}")
        self._difference.setAccessibleName(f"First difference at token {index + 1}")
        scores = (
            "gap not measured" if gap is None else f"the scores of the two tokens differ by {gap:.3g} there"
        )
        ended = "" if self.view.has_text(index) else " This one ended here."
        self._difference.setToolTip(
            f"After {count(index, 'equal token')} the answers part: {scores}.{ended} {words.LOSSLESS}"
        )
        self._difference_at = index
        self._difference.show()
        # Both would make this pane wider than the other in a narrow window.
        self._state.hide()

    @property
    def state(self) -> str:
        return self._state.text()
