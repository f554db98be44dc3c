"""Who won, by how much, in words: while the lanes run and when they have ended."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QVBoxLayout

from app import fonts, words
from app.format import factor
from app.widgets.parts import IconButton, button, label, set_tone
from engine.measure.verdict import Verdict

BEFORE = "Run a prompt to see what speculation buys on this computer."


class VerdictBar(QFrame):
    """Signals:
    copy_asked(str): "markdown" or "json".
    """

    copy_asked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "verdict")
        self._factor = label(font=fonts.tabular(fonts.heading()), tone="accent")
        self._sentence = label(BEFORE, font=fonts.tabular(fonts.body()), wraps=True)
        self._detail = label(tone="muted", font=fonts.small(), wraps=True)
        self._why = IconButton("circle-question-mark", "How the two lanes are measured", size_px=28)
        self._why.setToolTip(f"{words.FAIR}\n\n{words.LOSSLESS}")
        self._copy = button("Copy result", icon_name="copy", tip="Copy the texts and all figures")
        self._copy.clicked.connect(self._open_menu)
        self._copy.hide()
        lines = QVBoxLayout()
        lines.setSpacing(2)
        lines.addStretch()
        lines.addWidget(self._sentence)
        lines.addWidget(self._detail)
        lines.addStretch()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(12)
        row.addWidget(self._factor)
        row.addLayout(lines, 1)
        row.addWidget(self._why)
        row.addWidget(self._copy)
        self._copy_room()
        self.start_over()

    def _copy_room(self) -> None:
        """Keep the bar's height whether the button shows or not."""
        self.setMinimumHeight(max(44, self._copy.sizeHint().height()))

    @property
    def sentence(self) -> str:
        return self._sentence.text()

    @property
    def detail(self) -> str:
        return self._detail.text()

    def start_over(self, sentence: str = BEFORE) -> None:
        self._factor.hide()
        self._detail.hide()
        self._copy.hide()
        self._sentence.setText(sentence)
        set_tone(self._sentence, "muted")

    def show_verdict(self, verdict: Verdict, detail: str) -> None:
        """Show who leads, or who won; a lane that lost is called so."""
        self._factor.setVisible(verdict.speedup is not None)
        self._factor.setText(factor(verdict.speedup))
        set_tone(self._factor, "accent" if verdict.is_faster else "warning" if verdict.is_slower else "muted")
        sentence = verdict.sentence
        if verdict.speedup is not None:
            sentence = _without_factor(sentence, factor(verdict.speedup))
        set_tone(self._sentence, "" if verdict.is_final else "muted")
        self._sentence.setText(sentence)
        self._detail.setText(detail)
        self._detail.setVisible(bool(detail))
        self._copy.setVisible(verdict.is_final)
        self.setAccessibleName(f"Verdict: {verdict.sentence}. {detail}")

    def _open_menu(self) -> None:
        menu = QMenu(self)
        menu.addAction("As Markdown", lambda: self.copy_asked.emit("markdown"))
        menu.addAction("As JSON", lambda: self.copy_asked.emit("json"))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self._copy.mapToGlobal(QPoint(0, -menu.sizeHint().height() - 4)))


def _without_factor(sentence: str, number: str) -> str:
    """Return the sentence without the number that stands large beside it already."""
    return sentence.replace(f"{number} — ", "").replace(f"{number} ", "")
