"""The prompt of a comparison: ready prompts of each kind, the text, Run and Stop."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QVBoxLayout, QWidget

from app import fonts
from app.prompts import ReadyPrompt
from app.widgets.parts import TintedButton, button, label
from app.widgets.prompt_edit import PromptEdit

_OWN = "Your text"


class PromptBox(QWidget):
    """Signals:
    run_asked, stop_asked: the button, or Return.
    text_changed(str): what stands in the field.
    """

    run_asked = Signal()
    stop_asked = Signal()
    text_changed = Signal(str)

    def __init__(self, prompts: tuple[ReadyPrompt, ...], text: str) -> None:
        super().__init__()
        self._prompts = prompts
        self._own_text = ""
        self._running = False
        self.edit = PromptEdit(
            "Prompt", "Ask for something, or take a ready prompt above", least_lines=3, most_lines=5
        )
        self.run = button(
            "Run", role="primary", icon_name="play", tip="Answer this prompt in both lanes (Return)"
        )
        self.run.setMinimumWidth(96)
        self.run.clicked.connect(self._on_button)
        self.edit.submitted.connect(self._on_return)
        self.edit.textChanged.connect(self._on_text)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.edit, 1)
        row.addWidget(self.run, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addLayout(self._chips_row())
        column.addLayout(row)
        self.edit.setPlainText(text or prompts[0].text)
        self._on_text()

    def _chips_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addWidget(label("Try", tone="muted", font=fonts.small()))
        self._group = QButtonGroup(self)
        self._group.setExclusive(True)
        self._chips: dict[str, TintedButton] = {}
        for kind in (*dict.fromkeys(prompt.kind for prompt in self._prompts), _OWN):
            chip = button(kind, role="chip", tip=self._tip(kind))
            chip.setCheckable(True)
            chip.setFont(fonts.small())
            chip.clicked.connect(lambda _=False, kind=kind: self._take(kind))
            self._group.addButton(chip)
            self._chips[kind] = chip
            row.addWidget(chip)
        self._chips[_OWN].hide()
        row.addStretch()
        return row

    def _tip(self, kind: str) -> str:
        titles = [prompt.title for prompt in self._prompts if prompt.kind == kind]
        return (
            f"{' · '.join(titles)}\nClick again for the next one."
            if titles
            else "The text that you wrote yourself"
        )

    @property
    def text(self) -> str:
        return self.edit.text

    def set_running(self, running: bool) -> None:
        """Turn Run into Stop and back."""
        self._running = running
        self.run.set_words("Stop" if running else "Run")
        self.run.set_icon_name("square" if running else "play")
        self.run.setToolTip(
            "Stop both lanes (Esc)" if running else "Answer this prompt in both lanes (Return)"
        )

    def _take(self, kind: str) -> None:
        """Put the next ready prompt of `kind` into the field; a text of one's own is kept behind its chip."""
        if kind == _OWN:
            self.edit.replace_text(self._own_text)
            return
        texts = [prompt.text for prompt in self._prompts if prompt.kind == kind]
        if self.text.strip() and self._kind_of(self.text) is None:
            self._own_text = self.text
            self._chips[_OWN].show()
        now = texts.index(self.text) + 1 if self.text in texts else 0
        self.edit.replace_text(texts[now % len(texts)])

    def _kind_of(self, text: str) -> str | None:
        return next((prompt.kind for prompt in self._prompts if prompt.text == text), None)

    def _on_text(self) -> None:
        kind = self._kind_of(self.text)
        checked = kind or (_OWN if self.text == self._own_text and self._own_text else None)
        self._group.setExclusive(False)
        for name, chip in self._chips.items():
            chip.setChecked(name == checked)
        self._group.setExclusive(True)
        self.text_changed.emit(self.text)

    def _on_button(self) -> None:
        (self.stop_asked if self._running else self.run_asked).emit()

    def _on_return(self) -> None:
        if not self._running:
            self.run_asked.emit()
