"""What went wrong, where it happened: one sentence, what to do, a button that does it, and the detail on
demand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app import fonts
from app.announce import announce
from app.icons import icon
from app.palette import current_colours
from app.trouble import Trouble
from app.widgets.parts import IconButton, TintedButton, button, label, set_tone

_DETAIL_LINES = 6


@dataclass(frozen=True, slots=True)
class Remedy:
    """A button that helps: its verb and what it does."""

    verb: str
    act: Callable[[], None]


class Notice(QFrame):
    """Hidden until there is something to say. `tone` is "error", "warning" or "plain"."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "notice")
        # Not Maximum: in a narrow column words take more lines than the size hint knows of.
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self._remedies: list[TintedButton] = []
        self._mark = QLabel()
        self._sentence = label(font=fonts.strong(), wraps=True)
        self._what_to_do = label(wraps=True)
        self._details = button("Details", role="quiet", tip="Show what the log says")
        self._details.clicked.connect(self._toggle_detail)
        self._close = IconButton("x", "Dismiss", size_px=24)
        self._close.clicked.connect(self.hide)
        self._detail = QPlainTextEdit()
        self._detail.setReadOnly(True)
        self._detail.setProperty("role", "reading")
        self._detail.setAccessibleName("Details from the log")
        self._detail.setFixedHeight(self.fontMetrics().lineSpacing() * _DETAIL_LINES + 12)
        self._lay_out()
        self.hide()

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._sentence)
        words.addWidget(self._what_to_do)
        self._row = QHBoxLayout()
        self._row.setSpacing(8)
        self._row.addWidget(self._mark, 0, Qt.AlignmentFlag.AlignTop)
        self._row.addLayout(words, 1)
        self._row.addWidget(self._details, 0, Qt.AlignmentFlag.AlignVCenter)
        self._row.addWidget(self._close, 0, Qt.AlignmentFlag.AlignVCenter)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 8, 8)
        column.setSpacing(8)
        column.addLayout(self._row)
        column.addWidget(self._detail)

    @property
    def sentence(self) -> str:
        return self._sentence.text()

    @property
    def buttons(self) -> tuple[TintedButton, ...]:
        return tuple(self._remedies)

    def let_stay(self) -> None:
        """Have no way to dismiss it: it tells of a state, and goes when that is over."""
        self._close.hide()

    def tell(self, trouble: Trouble, *remedies: Remedy, tone: str = "error") -> None:
        """Show `trouble` with a button for each of `remedies`."""
        self._sentence.setText(trouble.sentence)
        self._what_to_do.setText(trouble.remedy)
        self._what_to_do.setVisible(bool(trouble.remedy))
        self._details.setVisible(bool(trouble.detail))
        self._detail.setPlainText(trouble.detail)
        self._detail.hide()
        set_tone(self, tone)
        self._put_buttons(remedies)
        self._tint()
        self.setAccessibleName(f"{trouble.sentence} {trouble.remedy}".strip())
        self.show()
        announce(self, self.accessibleName())

    def _put_buttons(self, remedies: tuple[Remedy, ...]) -> None:
        for old in self._remedies:
            self._row.removeWidget(old)
            old.deleteLater()
        self._remedies = []
        for remedy in remedies:
            one = button(remedy.verb)
            one.clicked.connect(lambda _=False, act=remedy.act: self._act(act))
            self._row.insertWidget(self._row.count() - 2, one, 0, Qt.AlignmentFlag.AlignVCenter)
            QWidget.setTabOrder(self._details, one)
            QWidget.setTabOrder(one, self._close)
            self._remedies.append(one)

    def _act(self, act: Callable[[], None]) -> None:
        """Do it; the keyboard stays near, and does not go to the window's first button with the notice."""
        focused = QApplication.focusWidget()
        self._hand_on_focus(focused is not None and self.isAncestorOf(focused))
        self.hide()
        act()

    def _hand_on_focus(self, is_due: bool) -> None:
        """Give the keyboard to what is nearest around the notice."""
        holder = self.parentWidget() if is_due else None
        while holder is not None:
            after: QWidget | None = self._close.nextInFocusChain()
            while after is not None and after is not self._close:
                if holder.isAncestorOf(after) and not self.isAncestorOf(after) and _takes_keys(after):
                    after.setFocus()
                    return
                after = after.nextInFocusChain()
            holder = holder.parentWidget()

    def _toggle_detail(self) -> None:
        self._detail.setVisible(not self._detail.isVisible())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()

    def _tint(self) -> None:
        colours = current_colours()
        tone = self.property("tone") or "error"
        tint = {"error": colours.error, "warning": colours.warning}.get(tone, colours.muted)
        name = {"error": "circle-alert", "warning": "triangle-alert"}.get(tone, "circle-question-mark")
        self._mark.setPixmap(icon(name, tint).pixmap(20, 20))


def _takes_keys(widget: QWidget) -> bool:
    return widget.isVisible() and widget.isEnabled() and bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
