"""Kinds of text against draft lengths: one figure at a time, everything else in the tooltip."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem

from app import fonts
from app.palette import current_colours
from app.tune.summary import (
    ALL_KINDS,
    Figure,
    best_mode_of,
    cell_tip,
    cell_words,
    mode_words,
    modes_of,
    rows_of,
)
from engine.bench.results import BenchResult, ModeFigures

_ROW_PX, _HEAD_PX = 28, 28
_LEAST_COLUMN_PX = 64


class FiguresTable(QTableWidget):
    """As tall as its rows; the arrow keys go from cell to cell.

    Signals:
        chosen(str): the row of this name is looked at.
    """

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._result: BenchResult | None = None
        self._figure = Figure.SPEEDUP
        self._shown: object = None
        self.setAccessibleName("Figures by kind of text and draft length")
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        if (corner := self.findChild(QAbstractButton)) is not None:
            corner.setAccessibleName("Kind of text")
        self.setFont(fonts.tabular(fonts.body()))
        across, down = self.horizontalHeader(), self.verticalHeader()
        across.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        across.setMinimumSectionSize(_LEAST_COLUMN_PX)
        down.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        down.setDefaultSectionSize(_ROW_PX)
        for header in (across, down):
            header.setHighlightSections(False)
            header.setSectionsClickable(False)
        down.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        across.setDefaultAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.currentCellChanged.connect(lambda row, *_: self._choose(row))

    @property
    def figure(self) -> Figure:
        return self._figure

    def show_figure(self, figure: Figure) -> None:
        self._figure = figure
        self._fill()

    def show_result(self, result: BenchResult | None) -> None:
        self._result = result
        self._fill()

    def cell(self, row: int, column: int) -> str:
        """Return what stands in a cell."""
        item = self.item(row, column)
        return item.text() if item is not None else ""

    def _fill(self) -> None:
        result = self._result
        rows = rows_of(result) if result is not None else ()
        modes = modes_of(result) if result is not None else ()
        shown = (rows, modes, self._figure, current_colours())
        if shown == self._shown:
            return
        self._shown = shown
        self.setRowCount(len(rows))
        self.setColumnCount(len(modes))
        self.setHorizontalHeaderLabels([mode_words(mode) for mode in modes])
        self.setVerticalHeaderLabels([name for name, _ in rows])
        for y, (name, figures) in enumerate(rows):
            best = best_mode_of(figures)
            for x, one in enumerate(figures):
                self._put(y, x, name, one, is_best=best is not None and one is best)
        self._fit()

    def _put(self, y: int, x: int, name: str, one: ModeFigures | None, *, is_best: bool) -> None:
        item = self.item(y, x)
        if item is None:
            item = QTableWidgetItem()
            item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            self.setItem(y, x, item)
        item.setText(cell_words(one, self._figure))
        tip = cell_tip(name, one)
        item.setToolTip(f"{tip}\nThe best of this row." if is_best else tip)
        best = " The best of this row." if is_best else ""
        spoken = f"{name}, {mode_words(one.mode) if one else ''}: {item.text()}.{best}"
        item.setData(Qt.ItemDataRole.AccessibleTextRole, spoken)
        item.setFont(fonts.tabular(fonts.strong() if is_best or name == ALL_KINDS else fonts.body()))
        colours = current_colours()
        tint = (
            colours.accent if is_best else colours.muted if one is None or one.is_baseline else colours.text
        )
        item.setForeground(QColor(tint))

    def _fit(self) -> None:
        """Be as tall as the rows, and wide enough for what stands in them."""
        advance = self.fontMetrics().horizontalAdvance
        rows, columns = range(self.rowCount()), range(self.columnCount())
        widest = max((advance(self.cell(y, x)) for y in rows for x in columns), default=0)
        self.horizontalHeader().setMinimumSectionSize(max(_LEAST_COLUMN_PX, widest + 20))
        self.horizontalHeader().setFixedHeight(_HEAD_PX)
        self.setFixedHeight(
            _HEAD_PX + _ROW_PX * self.rowCount() + 2 + self.horizontalScrollBar().sizeHint().height()
        )

    def _choose(self, row: int) -> None:
        header = self.verticalHeaderItem(row)
        if header is not None:
            self.chosen.emit(header.text())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._fill()
