"""The detail before anything is chosen: what the page is for, and the one button to begin."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app import fonts
from app.widgets.notice import Notice
from app.widgets.parts import button, label

_TITLE = "Find a model that suits this computer"
_LESSON = (
    "On the left are models that go well with a drafter, something quick that guesses ahead. Each says whether it "
    "fits here and, once this computer was measured, about how fast it will be. Choose one to see to the megabyte "
    "what it takes, then download it, drafter and all, with one button."
)


class Lesson(QWidget):
    """Signals:
    begun: the button was pressed.
    """

    begun = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._title = label(_TITLE, font=fonts.heading(), wraps=True)
        self._text = label(_LESSON, tone="muted", wraps=True)
        self.begin = button("Show what is recommended", role="primary")
        self.begin.clicked.connect(self.begun)
        self.notice = Notice()
        column = QVBoxLayout(self)
        column.setContentsMargins(32, 24, 32, 24)
        column.setSpacing(12)
        column.addStretch(2)
        for line in (self._title, self._text):
            line.setAlignment(Qt.AlignmentFlag.AlignCenter)
            column.addWidget(line)
        row = QHBoxLayout()
        row.addStretch()
        row.addWidget(self.begin)
        row.addStretch()
        column.addLayout(row)
        column.addWidget(self.notice)
        column.addStretch(3)

    @property
    def words(self) -> str:
        return self._title.text()

    def teach(self, *, can_begin: bool) -> None:
        """Show what the page is for."""
        self._say(_TITLE, _LESSON)
        self.begin.setVisible(can_begin)

    def wait_for(self, repo: str) -> None:
        """Say that the page of `repo` is being opened."""
        self._say(repo.rpartition("/")[2], f"Opening its page on the Hub, by {repo.partition('/')[0]}…")

    def fail(self, repo: str) -> None:
        """Make room for the notice that says why the page of `repo` could not be opened."""
        self._say(repo.rpartition("/")[2], "")

    def _say(self, title: str, text: str) -> None:
        self.notice.hide()
        self.begin.hide()
        self._title.setText(title)
        self._text.setText(text)
        self._text.setVisible(bool(text))
