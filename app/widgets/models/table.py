"""A quiet table of words and numbers, right-aligned and selectable."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from app import fonts
from app.widgets.parts import label


class Table(QWidget):
    """The first row is the head; the first column holds names. Cells are made only once it is looked at."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(8, 0, 0, 0)
        self._grid.setHorizontalSpacing(24)
        self._grid.setVerticalSpacing(3)
        self._rows: tuple[tuple[str, ...], ...] = ()
        self._filled: tuple[tuple[str, ...], ...] = ()

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        return self._rows

    def set_rows(self, rows: tuple[tuple[str, ...], ...]) -> None:
        self._rows = rows
        if self.isVisible():
            self._fill()

    def showEvent(self, event: QShowEvent) -> None:
        self._fill()
        super().showEvent(event)

    def _fill(self) -> None:
        rows = self._rows
        if rows == self._filled:
            return
        self._filled = rows
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.setParent(None)
                widget.deleteLater()
        for y, row in enumerate(rows):
            for x, text in enumerate(row):
                cell = label(
                    text, tone="muted" if y == 0 or x == 0 else "", font=fonts.tabular(fonts.small())
                )
                cell.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
                side = Qt.AlignmentFlag.AlignLeft if x == 0 else Qt.AlignmentFlag.AlignRight
                self._grid.addWidget(cell, y, x, side)
        self._grid.setColumnStretch(max((len(row) for row in rows), default=0), 1)
