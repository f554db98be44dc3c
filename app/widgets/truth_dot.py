"""The truth light as a mark: a ring (off), a half disc (on, nothing drafted), a full disc (drafting)."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.palette import current_colours
from app.truth import TruthLight

_SIZE_PX = 10


class TruthDot(QWidget):
    """The three states differ in shape as well as in colour."""

    def __init__(self) -> None:
        super().__init__()
        self._light = TruthLight.OFF
        self.setFixedSize(QSize(_SIZE_PX + 2, _SIZE_PX + 2))

    @property
    def light(self) -> TruthLight:
        return self._light

    def show_light(self, light: TruthLight, words: str) -> None:
        self._light = light
        self.setToolTip(words)
        self.setAccessibleName(words)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        colours = current_colours()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(1.5, 1.5, _SIZE_PX - 1, _SIZE_PX - 1)
        tint = {
            TruthLight.OFF: colours.colour("disabled"),
            TruthLight.IDLE: colours.colour("warning"),
            TruthLight.DRAFTING: colours.colour("accent"),
        }[self._light]
        painter.setPen(QPen(tint, 1.5))
        painter.setBrush(tint if self._light is TruthLight.DRAFTING else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(box)
        if self._light is TruthLight.IDLE:
            painter.setBrush(tint)
            painter.drawPie(box, 90 * 16, 180 * 16)
