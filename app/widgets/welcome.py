"""The chat before its first message: what it is for, and a few ways to begin."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app import fonts
from app.prompts import ReadyPrompt
from app.widgets.parts import button, label

_TITLE = "Chat with a model on this computer"
_LESSON = (
    "Speculation can make answers faster and leaves the words to the model. "
    "Under each answer stands whether it worked, and what it gave."
)
_MOST_SUGGESTIONS = 4


class Welcome(QWidget):
    """Signals:
    suggested(str): the text of a ready prompt.
    """

    suggested = Signal(str)

    def __init__(self, prompts: tuple[ReadyPrompt, ...]) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 24, 24, 24)
        column.setSpacing(8)
        column.addStretch(2)
        for line in (
            label(_TITLE, font=fonts.heading(), wraps=True),
            label(_LESSON, tone="muted", wraps=True),
        ):
            line.setAlignment(Qt.AlignmentFlag.AlignCenter)
            column.addWidget(line)
        column.addSpacing(8)
        column.addLayout(self._suggestions(prompts))
        column.addStretch(3)

    def _suggestions(self, prompts: tuple[ReadyPrompt, ...]) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addStretch()
        for prompt in _first_of_each_kind(prompts)[:_MOST_SUGGESTIONS]:
            chip = button(prompt.title, role="chip", tip=prompt.text)
            chip.clicked.connect(lambda _=False, text=prompt.text: self.suggested.emit(text))
            row.addWidget(chip)
        row.addStretch()
        return row


def _first_of_each_kind(prompts: tuple[ReadyPrompt, ...]) -> list[ReadyPrompt]:
    return [prompt for i, prompt in enumerate(prompts) if prompt.kind not in {p.kind for p in prompts[:i]}]
