"""A thin line that grows with a lane, so that the eye sees the race."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.format import share
from app.palette import current_colours

_HEIGHT_PX = 4


class ProgressLine(QWidget):
    """`colour` names an entry of the palette; while the prompt is being read the line is drawn paler.

    `done` says what the share is a share of, `track` is the colour of what is to come.
    """

    def __init__(self, name: str, colour: str, done: str = "of the answer", *, track: str = "card") -> None:
        super().__init__()
        self._name = name
        self._done = done
        self._track = track
        self._colour = colour
        self._fraction = 0.0
        self._reading = False
        self.setFixedHeight(_HEIGHT_PX)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.set_progress(0.0)

    @property
    def fraction(self) -> float:
        return self._fraction

    def set_name(self, name: str) -> None:
        self._name = name

    def set_progress(self, fraction: float, *, reading: bool = False) -> None:
        """Show `fraction` 0 to 1 of the answer, or of the prompt while `reading`."""
        self._fraction = min(1.0, max(0.0, fraction))
        self._reading = reading
        what = "of the prompt read" if reading else self._done
        self.setAccessibleName(f"{self._name}: {share(self._fraction)} {what}")
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        colours = current_colours()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colours.colour(self._track))
        painter.drawRoundedRect(QRectF(self.rect()), 2, 2)
        if self._fraction > 0:
            painter.setBrush(colours.colour("control_line" if self._reading else self._colour))
            painter.setOpacity(0.5 if self._reading else 1.0)
            painter.drawRoundedRect(
                QRectF(0, 0, max(4.0, self.width() * self._fraction), self.height()), 2, 2
            )
