"""A switch: a check box drawn as a track with a knob, whose place says on or off without colour."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox

from app.palette import current_colours

_TRACK = QSize(30, 18)
_KNOB_PX = 12
_GAP_PX = 8


class Switch(QCheckBox):
    """Behaves and reads as a check box."""

    def __init__(self, name: str, *, text: str = "") -> None:
        super().__init__(text)
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:
        text = self.fontMetrics().horizontalAdvance(self.text())
        width = _TRACK.width() + 4 + (_GAP_PX + text if text else 0)
        return QSize(width, max(_TRACK.height() + 4, self.fontMetrics().height()))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def hitButton(self, pos: QPoint) -> bool:
        return self.rect().contains(pos)

    def paintEvent(self, _event: QPaintEvent) -> None:
        colours = current_colours()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(2, (self.height() - _TRACK.height()) / 2, _TRACK.width(), _TRACK.height())
        on = self.isChecked()
        edge = "text" if self.hasFocus() else "accent" if on else "control_line"
        painter.setPen(QPen(colours.colour(edge), 1.5 if self.hasFocus() else 1.0))
        painter.setBrush(colours.colour("accent" if on else "base"))
        painter.drawRoundedRect(track, track.height() / 2, track.height() / 2)
        inset = (track.height() - _KNOB_PX) / 2
        x = track.right() - inset - _KNOB_PX if on else track.left() + inset
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colours.colour("on_accent" if on else "control_line"))
        painter.drawEllipse(QRectF(x, track.top() + inset, _KNOB_PX, _KNOB_PX))
        if self.text():
            painter.setPen(colours.colour("text" if self.isEnabled() else "disabled"))
            words = self.rect().adjusted(_TRACK.width() + 4 + _GAP_PX, 0, 0, 0)
            painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self.text())
