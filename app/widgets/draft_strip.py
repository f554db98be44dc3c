"""How far was guessed ahead, pass by pass, who guessed, and in a sentence why nothing was guessed."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from app import fonts
from app.draft_trace import DraftStep, DraftTrace, shown, step_words
from app.palette import Colours, current_colours
from app.widgets.elided import ElidedLabel
from app.widgets.parts import label
from engine.speculation.round import DraftSource, Round

_BAR_PX, _GAP_PX = 4, 1
_BARS_PX = 32
_LEAST_TOP = 4
_LINES = 3
TITLE = "Guessed ahead, pass by pass"
EXPLANATION = (
    "One bar for each pass of the model, the latest at the right: its height is how many tokens were guessed, the "
    "filled part those that were right. Hatched bars were looked up (n-gram), full ones come from a drafter with "
    "weights. A dot is a pass for which nothing was guessed. With draft length auto the height follows what pays."
)


class _Bars(QWidget):
    """The latest passes for which there is room."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: tuple[DraftStep, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(_BARS_PX + 4)
        self.setMinimumWidth(80)

    def sizeHint(self) -> QSize:
        return QSize(320, _BARS_PX + 4)

    def _room(self) -> int:
        return self.width() // (_BAR_PX + _GAP_PX)

    def paintEvent(self, _event: QPaintEvent) -> None:
        colours = current_colours()
        painter = QPainter(self)
        bottom = self.height() - 2
        painter.setPen(QPen(colours.colour("line"), 1))
        painter.drawLine(0, bottom, self.width(), bottom)
        _, steps = shown(self.steps, self._room())
        top = max([_LEAST_TOP, *(step.drafted for step in steps)])
        for i, step in enumerate(steps):
            self._paint_bar(painter, colours, i * (_BAR_PX + _GAP_PX), bottom, _BARS_PX / top, step)

    def _paint_bar(
        self, painter: QPainter, colours: Colours, x: float, bottom: float, unit_px: float, step: DraftStep
    ) -> None:
        if not step.drafted:
            painter.fillRect(QRectF(x + 1, bottom - 2, 2, 2), colours.colour("muted"))
            return
        whole = QRectF(x, bottom - step.drafted * unit_px, _BAR_PX, step.drafted * unit_px)
        painter.fillRect(whole, colours.colour("line"))
        right = QRectF(x, bottom - step.accepted * unit_px, _BAR_PX, step.accepted * unit_px)
        tint = colours.colour("accent" if step.source is not DraftSource.NGRAM else "drafter")
        painter.fillRect(right, tint)
        if step.source is DraftSource.NGRAM:
            painter.fillRect(whole, _hatched(colours))

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.words_at(event.pos()), self)
            return True
        return super().event(event)

    def words_at(self, at: QPoint) -> str:
        """Return what the bar at `at` stands for, else what bars are."""
        first, steps = shown(self.steps, self._room())
        i = at.x() // (_BAR_PX + _GAP_PX)
        if 0 <= i < len(steps):
            return f"{step_words(first + i, steps[i])}\n\n{EXPLANATION}"
        return EXPLANATION


class DraftStrip(QWidget):
    """Shows the rounds that it is given, and a sentence about them."""

    def __init__(self) -> None:
        super().__init__()
        self._trace, self._n_taken = DraftTrace(), 0
        self._title = ElidedLabel(TITLE, font=fonts.tabular(fonts.small()))
        self._title.setProperty("tone", "muted")
        self.bars = _Bars()
        self._sentence = label(font=fonts.tabular(fonts.small()), wraps=True)
        self._sentence.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self._sentence.setMinimumHeight(_LINES * self._sentence.fontMetrics().lineSpacing())
        row = QHBoxLayout()
        row.setSpacing(16)
        row.addWidget(self.bars, 2, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._sentence, 3)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(self._title)
        column.addLayout(row)
        self.start_over()

    @property
    def trace(self) -> DraftTrace:
        return self._trace

    @property
    def title(self) -> str:
        return self._title.words

    @property
    def sentence(self) -> str:
        return self._sentence.text()

    def start_over(self) -> None:
        self._trace, self._n_taken = DraftTrace(), 0
        self._show("")

    def show_rounds(self, rounds: Sequence[Round], sentence: str) -> None:
        """Show all rounds of an answer so far, which begin with those shown before, and a sentence about them."""
        self._trace = self._trace.plus(rounds[self._n_taken :])
        self._n_taken = len(rounds)
        self._show(sentence)

    def _show(self, sentence: str) -> None:
        summary = self._trace.summary
        self.bars.steps = self._trace.steps
        self.bars.update()
        self.bars.setAccessibleName(f"{TITLE}: {summary or 'nothing yet'}. {sentence}".strip())
        self._title.set_words(f"{TITLE} · {summary}" if summary else TITLE)
        self._sentence.setText(sentence)
        self._sentence.setToolTip(f"{sentence}\n\n{EXPLANATION}".strip())


def _hatched(colours: Colours) -> QBrush:
    return QBrush(colours.colour("base"), Qt.BrushStyle.BDiagPattern)
