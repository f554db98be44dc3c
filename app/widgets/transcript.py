"""The messages of a conversation, one below the other, in a column no wider than one reads well."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.widgets.parts import widgets_of
from app.widgets.turn_view import TurnView

COLUMN_PX = 760
_NEAR_PX = 8


class Transcript(QScrollArea):
    """Follows the end while the reader is there, and stays where the reader scrolled to."""

    def __init__(self) -> None:
        super().__init__()
        self._follows = True
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Conversation")
        column = QWidget()
        column.setMaximumWidth(COLUMN_PX)
        self._column = QVBoxLayout(column)
        self._column.setContentsMargins(0, 24, 0, 24)
        self._column.setSpacing(32)
        self._column.addStretch()
        page = QWidget()
        page.setProperty("role", "page")
        self._row = QHBoxLayout(page)
        self._row.addStretch(1)
        self._row.addWidget(column, 1000)
        self._row.addStretch(1)
        self._keep_width(has_bar=False)
        self.setWidget(page)
        bar = self.verticalScrollBar()
        bar.valueChanged.connect(self._on_scrolled)
        bar.rangeChanged.connect(self._on_range)

    @property
    def turns(self) -> tuple[TurnView, ...]:
        return tuple(one for one in widgets_of(self._column) if isinstance(one, TurnView))

    def add(self, view: TurnView) -> None:
        """Append `view` and go to the end."""
        self._column.insertWidget(self._column.count() - 1, view)
        self._follows = True

    def clear(self) -> None:
        for view in self.turns:
            self._column.removeWidget(view)
            view.deleteLater()

    def _on_scrolled(self, value: int) -> None:
        self._follows = value >= self.verticalScrollBar().maximum() - _NEAR_PX

    def _keep_width(self, *, has_bar: bool) -> None:
        """Give the text the same room with and without a scroll bar, so that nothing moves when it comes."""
        bar_px = 0 if has_bar else self.verticalScrollBar().sizeHint().width()
        self._row.setContentsMargins(24, 0, 24 + bar_px, 0)

    def _on_range(self, _least: int, most: int) -> None:
        self._keep_width(has_bar=most > 0)
        if self._follows:
            self.verticalScrollBar().setValue(most)
