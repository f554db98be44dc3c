"""The Tune page before anything was measured."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app import fonts
from app.tune import words
from app.widgets.parts import label

_LESSON_PX = 720


class TuneLesson(QWidget):
    """What the page is for, and how to begin."""

    def __init__(self) -> None:
        super().__init__()
        self._text = label(words.LESSON, tone="muted", wraps=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(32, 24, 32, 24)
        column.setSpacing(12)
        column.addStretch(1)
        for line in (label(words.TITLE, font=fonts.heading(), wraps=True), self._text):
            line.setAlignment(Qt.AlignmentFlag.AlignCenter)
            line.setMaximumWidth(_LESSON_PX)
            row = QHBoxLayout()
            row.addStretch(1)
            row.addWidget(line, 100)
            row.addStretch(1)
            column.addLayout(row)
        column.addStretch(2)

    @property
    def words(self) -> str:
        return self._text.text()

    def teach(self, *, can_begin: bool) -> None:
        self._text.setText(words.LESSON if can_begin else f"{words.LESSON}\n\n{words.NO_MODEL_LESSON}")
