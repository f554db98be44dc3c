"""What the tint and the underline in an answer mean, with the switch that hides them."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app import fonts
from app.palette import current_colours
from app.widgets.switch import Switch

_WORDS = (
    (True, "guessed", "This text was guessed ahead by the drafter, and the model agreed."),
    (False, "its own", "This text is the model's own: nothing was guessed here, or the guess was wrong."),
)


class _Sample(QWidget):
    """A word that looks as the text does that it stands for."""

    def __init__(self, word: str, tip: str, *, accepted: bool) -> None:
        super().__init__()
        self._word = word
        self._accepted = accepted
        self.setFont(fonts.small())
        self.setToolTip(tip)
        self.setAccessibleName(f"{word}: {tip}")
        self.setFixedSize(self.fontMetrics().horizontalAdvance(word) + 8, self.fontMetrics().height() + 2)

    def sizeHint(self) -> QSize:
        return self.size()

    def paintEvent(self, _event: QPaintEvent) -> None:
        colours = current_colours()
        painter = QPainter(self)
        if self._accepted:
            painter.fillRect(self.rect(), colours.colour("accepted"))
            painter.setPen(QPen(colours.colour("accent"), 1))
            painter.drawLine(0, self.height() - 2, self.width(), self.height() - 2)
        painter.setPen(colours.colour("text"))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self._word)


class Legend(QWidget):
    """Two samples, and a switch.

    Signals:
        toggled(bool): whether tokens are to show where they came from.
    """

    toggled = Signal(bool)

    def __init__(self, *, shown: bool) -> None:
        super().__init__()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        for accepted, word, tip in _WORDS:
            layout.addWidget(_Sample(word, tip, accepted=accepted))
        layout.addSpacing(2)
        self._switch = Switch("Show where each token came from")
        self._switch.setChecked(shown)
        self._switch.toggled.connect(self.toggled)
        layout.addWidget(self._switch)
