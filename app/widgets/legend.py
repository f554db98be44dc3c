"""What the tint and the underline in an answer mean, with the switch that hides them."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QWidget

from app import fonts
from app.palette import current_colours
from app.widgets.parts import label


class _Sample(QWidget):
    """A word-sized patch: tinted and underlined, or plain."""

    def __init__(self, accepted: bool) -> None:
        super().__init__()
        self._accepted = accepted
        self.setFixedSize(QSize(20, 14))

    def paintEvent(self, _event: QPaintEvent) -> None:
        colours = current_colours()
        painter = QPainter(self)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colours.colour("accepted" if self._accepted else "card"))
        painter.drawRoundedRect(QRectF(self.rect()), 2, 2)
        if self._accepted:
            painter.setPen(QPen(colours.colour("accent"), 1.5))
            painter.drawLine(1, self.height() - 2, self.width() - 2, self.height() - 2)


class Legend(QWidget):
    """Two samples with their words, and a check box.

    Signals:
        toggled(bool): whether tokens are to show where they came from.
    """

    toggled = Signal(bool)

    def __init__(self, *, shown: bool) -> None:
        super().__init__()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        for accepted, word, tip in (
            (True, "guessed", "This text was guessed ahead by the drafter, and the model agreed."),
            (False, "own", "This text is the model's own: nothing was guessed here, or the guess was wrong."),
        ):
            sample, text = _Sample(accepted), label(word, tone="muted", font=fonts.small())
            sample.setToolTip(tip)
            text.setToolTip(tip)
            layout.addWidget(sample)
            layout.addWidget(text)
            layout.addSpacing(4)
        self._switch = QCheckBox()
        self._switch.setChecked(shown)
        self._switch.setAccessibleName("Show where each token came from")
        self._switch.setToolTip("Show where each token came from")
        self._switch.toggled.connect(self.toggled)
        layout.addWidget(self._switch)
