"""Speed-up over draft length: a line for each kind of text, and a strong one for all together."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import fonts
from app.palette import current_colours
from app.tune.chart_data import ChartLine, lines_of
from app.tune.chart_paint import ChartLook, ChartPainter
from engine.bench.results import BenchResult

_LEAST_PX, _WANTED_PX = QSize(320, 240), QSize(480, 300)
EXPLANATION = (
    "How many times as fast as without guessing ahead, for each draft length. Above 1× guessing pays. "
    "The strong line is the geometric mean over all kinds of text; the ring marks the best."
)


class SpeedupChart(QWidget):
    """Shows a result; the line of the chosen kind of text stands out too."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: tuple[ChartLine, ...] = ()
        self._chosen = ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setToolTip(EXPLANATION)
        self._name()

    @property
    def lines(self) -> tuple[ChartLine, ...]:
        return self._lines

    @property
    def chosen(self) -> str:
        return self._chosen

    def show_result(self, result: BenchResult | None) -> None:
        lines = lines_of(result)
        if lines != self._lines:
            self._lines = lines
            self._name()
            self.update()

    def choose(self, name: str) -> None:
        """Have the line `name` stand out."""
        if name != self._chosen:
            self._chosen = name
            self.update()

    def sizeHint(self) -> QSize:
        return _WANTED_PX

    def minimumSizeHint(self) -> QSize:
        return _LEAST_PX

    def _name(self) -> None:
        said = ". ".join(line.words for line in self._lines)
        self.setAccessibleName(f"Speed-up by draft length. {said or 'Nothing measured yet.'}")
        self.setAccessibleDescription(EXPLANATION)

    def paintEvent(self, _event: QPaintEvent) -> None:
        look = ChartLook(
            current_colours(), fonts.tabular(fonts.small()), fonts.tabular(fonts.small_strong()), self._chosen
        )
        ChartPainter(QPainter(self), QRectF(self.rect()), self._lines, look).paint()
