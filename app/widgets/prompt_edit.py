"""A field for a prompt: grows with its text, Return submits, Shift+Return begins a new line."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy

_FRAME_PX = 8


class PromptEdit(QPlainTextEdit):
    """Signals:
    submitted: Return was pressed.
    """

    submitted = Signal()

    def __init__(self, name: str, placeholder: str, *, least_lines: int, most_lines: int) -> None:
        super().__init__()
        self._least, self._most = least_lines, most_lines
        self.setProperty("role", "input")
        self.setAccessibleName(name)
        self.setPlaceholderText(placeholder)
        self.setTabChangesFocus(True)
        # The document's own margin below would show the upper half of the next line.
        self.setViewportMargins(0, 0, 0, int(self.document().documentMargin()))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().documentLayout().documentSizeChanged.connect(lambda _: self._fit())
        self._fit()

    @property
    def text(self) -> str:
        return self.toPlainText()

    def replace_text(self, text: str) -> None:
        """Put `text` in place of what is there; undo brings that back."""
        cursor = self.textCursor()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)
        cursor.setPosition(0)
        self.setTextCursor(cursor)
        self.verticalScrollBar().setValue(0)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """Leave files to the window, which opens them."""
        return source.hasText() and not source.hasUrls()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_return = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_return and not event.modifiers() & (
            Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier
        ):
            self.submitted.emit()
            return
        super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Take as many lines as the text has, within the limits; QPlainTextEdit counts its size in lines."""
        n_lines = int(self.document().documentLayout().documentSize().height())
        overflows = n_lines > self._most
        policy = Qt.ScrollBarPolicy.ScrollBarAsNeeded if overflows else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(policy)
        shown = min(self._most, max(self._least, n_lines))
        margin = int(self.document().documentMargin())
        # Before it is shown the field has not been laid out, and the viewport's size means nothing.
        around = self.height() - self.viewport().height() if self.isVisible() else margin + _FRAME_PX
        height = shown * self.fontMetrics().lineSpacing() + margin + around
        if height != self.height():
            self.setFixedHeight(height)
