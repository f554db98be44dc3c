"""Something is worked out of which nobody knows how far it is: a line that moves, and Cancel."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from app.palette import current_colours
from app.widgets.parts import button

_LINE_PX = 4
_STEP_MS, _STEPS = 50, 40
_SHARE = 0.25
_PATIENCE_MS = 1000


class _Line(QWidget):
    """A stretch that runs along the line while it is seen."""

    def __init__(self) -> None:
        super().__init__()
        self._step = 0
        self.setFixedHeight(_LINE_PX)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Busy")
        self._tick = QTimer(self)
        self._tick.setInterval(_STEP_MS)
        self._tick.timeout.connect(self._on_tick)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._tick.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._tick.stop()

    def _on_tick(self) -> None:
        self._step = (self._step + 1) % _STEPS
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        colours = current_colours()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colours.colour("line"))
        painter.drawRoundedRect(QRectF(self.rect()), 2, 2)
        width = self.width() * _SHARE
        x = (self.width() + width) * self._step / _STEPS - width
        painter.setBrush(colours.colour("accent"))
        painter.drawRoundedRect(QRectF(x, 0, width, self.height()), 2, 2)


class BusyStrip(QWidget):
    """Shown once waiting takes more than a moment.

    Signals:
        cancelled: the person has waited long enough.
    """

    cancelled = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.cancel = button("Cancel")
        self.cancel.clicked.connect(self.cancelled)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(12)
        row.addWidget(_Line(), 1)
        row.addWidget(self.cancel)
        self._appear = QTimer(self)
        self._appear.setSingleShot(True)
        self._appear.setInterval(_PATIENCE_MS)
        self._appear.timeout.connect(self.show)
        self.hide()

    def set_busy(self, is_busy: bool) -> None:
        if not is_busy:
            self._appear.stop()
            self.hide()
        elif self.isHidden() and not self._appear.isActive():
            self._appear.start()
