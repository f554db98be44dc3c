"""A number with its name: small above a text, or the one big number of a pane."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app import fonts
from app.format import NOTHING_YET
from app.widgets.parts import label


class Figure(QWidget):
    """A small name above a value of fixed width; the tooltip says in a sentence what it means."""

    def __init__(self, name: str, explanation: str, *, widest: str = "0.00 s") -> None:
        super().__init__()
        self._name = name
        self.setToolTip(explanation)
        self.setAccessibleDescription(explanation)
        self._value = label(NOTHING_YET, font=fonts.tabular(fonts.body()))
        caption = label(name, tone="muted", font=fonts.small())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(caption)
        layout.addWidget(self._value)
        width = max(self._value.fontMetrics().horizontalAdvance(widest), caption.sizeHint().width())
        self.setFixedWidth(width + 4)
        self.set_value(NOTHING_YET)

    @property
    def value(self) -> str:
        return self._value.text()

    def set_value(self, text: str) -> None:
        if text != self._value.text() or not self.accessibleName():
            self._value.setText(text)
            self.setAccessibleName(f"{self._name}: {text}")


class BigFigure(QWidget):
    """The one large number of a pane with its unit beside it."""

    def __init__(self, name: str, unit: str, explanation: str, *, widest: str = "000.0") -> None:
        super().__init__()
        self._name = name
        self._unit = unit
        self.setToolTip(explanation)
        self.setAccessibleDescription(explanation)
        self._value = label(NOTHING_YET, font=fonts.figure())
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self._value)
        beside = label(unit, tone="muted")
        beside.setContentsMargins(0, 0, 0, 5)
        layout.addWidget(beside, 0, Qt.AlignmentFlag.AlignBottom)
        layout.addStretch()
        self.setMinimumWidth(
            self._value.fontMetrics().horizontalAdvance(widest) + beside.sizeHint().width() + 8
        )
        self.set_value(NOTHING_YET)

    @property
    def value(self) -> str:
        return self._value.text()

    def set_value(self, text: str) -> None:
        if text != self._value.text() or not self.accessibleName():
            self._value.setText(text)
            self.setAccessibleName(f"{self._name}: {text} {self._unit}")
