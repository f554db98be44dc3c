"""A line of text that ends in … where there is no room for all of it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy


class ElidedLabel(QLabel):
    """Asks for the width of its text and makes do with less; the whole text is its tooltip and its name."""

    def __init__(self, text: str = "", *, font: QFont | None = None) -> None:
        super().__init__()
        self._whole = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        if font is not None:
            self.setFont(font)
        self.set_words(text)

    @property
    def words(self) -> str:
        return self._whole

    def set_words(self, text: str) -> None:
        if text != self._whole or not self.accessibleName():
            self._whole = text
            self.setAccessibleName(text)
            self.setToolTip(text)
            self._elide()
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance(self._whole) + 2, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(24, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        room = max(24, self.width())
        self.setText(self.fontMetrics().elidedText(self._whole, Qt.TextElideMode.ElideRight, room))
