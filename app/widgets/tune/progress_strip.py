"""How far a bench is: a line, what is being answered, how long it still takes."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app import fonts
from app.tune.words import progress_words
from app.widgets.elided import ElidedLabel
from app.widgets.progress_line import ProgressLine
from engine.bench.driver import BenchProgress


class ProgressStrip(QWidget):
    """Shown while a bench runs."""

    def __init__(self) -> None:
        super().__init__()
        self._words = ElidedLabel(font=fonts.tabular(fonts.body()))
        self._line = ProgressLine("Measuring", "accent", "done", track="line")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self._words)
        column.addWidget(self._line)
        self.hide()

    @property
    def words(self) -> str:
        return self._words.words

    @property
    def fraction(self) -> float:
        return self._line.fraction

    def show_progress(self, progress: BenchProgress | None) -> None:
        if progress is None:
            return
        self._words.set_words(progress_words(progress))
        self._line.set_progress(progress.n_done / progress.n_total if progress.n_total else 0.0)
