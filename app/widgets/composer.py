"""Where a message is written: the field that grows, Send and Stop."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.widgets.parts import button
from app.widgets.prompt_edit import PromptEdit


class Composer(QWidget):
    """Signals:
    send_asked, stop_asked: the button, or Return.
    text_changed(str): what stands in the field.
    """

    send_asked = Signal()
    stop_asked = Signal()
    text_changed = Signal(str)

    def __init__(self, text: str) -> None:
        super().__init__()
        self._running = False
        self.edit = PromptEdit("Message", "Write a message", least_lines=1, most_lines=8)
        self.edit.setPlainText(text)
        self.send = button("Send", role="primary", icon_name="arrow-up", tip="Send (Return)")
        self.send.setIconSize(QSize(16, 16))
        self.send.setMinimumWidth(88)
        self.send.clicked.connect(self._on_button)
        self.edit.submitted.connect(self._on_return)
        self.edit.textChanged.connect(lambda: self.text_changed.emit(self.edit.text))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self.edit, 1)
        row.addWidget(self.send, 0, Qt.AlignmentFlag.AlignBottom)

    @property
    def text(self) -> str:
        return self.edit.text

    def set_running(self, running: bool) -> None:
        """Turn Send into Stop and back."""
        self._running = running
        self.send.set_words("Stop" if running else "Send")
        self.send.set_icon_name("square" if running else "arrow-up")
        self.send.setToolTip("Stop the answer (Esc)" if running else "Send (Return)")

    def _on_button(self) -> None:
        (self.stop_asked if self._running else self.send_asked).emit()

    def _on_return(self) -> None:
        if not self._running:
            self.send_asked.emit()
