"""The list of models: a model of rows that fetches more of the Hub when its end is seen, and its view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QListView, QWidget

from app.models.rows import Row, RowKind
from app.widgets.models.row_delegate import RowDelegate

Index = QModelIndex | QPersistentModelIndex
ROW_ROLE = int(Qt.ItemDataRole.UserRole)
_NO_PARENT = QModelIndex()


class RowsModel(QAbstractListModel):
    """Rows as they are. Where they change, only rows with other keys come and go: selection and scrolling stay."""

    def __init__(self, can_fetch: Callable[[], bool], fetch: Callable[[], None], parent: QWidget) -> None:
        super().__init__(parent)
        self._rows: tuple[Row, ...] = ()
        self._can_fetch = can_fetch
        self._fetch = fetch

    @property
    def rows(self) -> tuple[Row, ...]:
        return self._rows

    def set_rows(self, rows: tuple[Row, ...]) -> None:
        if rows == self._rows:
            return
        old = self._rows
        head = _common(old, rows)
        tail = _common(old[head:][::-1], rows[head:][::-1])
        if len(old) > head + tail:
            self.beginRemoveRows(_NO_PARENT, head, len(old) - tail - 1)
            self._rows = old[:head] + old[len(old) - tail :]
            self.endRemoveRows()
        if len(rows) > head + tail:
            self.beginInsertRows(_NO_PARENT, head, len(rows) - tail - 1)
            self._rows = rows
            self.endInsertRows()
        self._rows = rows
        changed = (*range(head), *range(len(rows) - tail, len(rows)))
        if changed:
            self.dataChanged.emit(self.index(changed[0]), self.index(changed[-1]))

    def rowCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == ROW_ROLE:
            return row
        if role == Qt.ItemDataRole.DisplayRole:
            return row.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.tip or None
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return row.spoken
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        if index.isValid() and self._rows[index.row()].can_be_chosen:
            return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren
        return Qt.ItemFlag.ItemNeverHasChildren

    def canFetchMore(self, parent: Index) -> bool:
        return not parent.isValid() and self._can_fetch()

    def fetchMore(self, parent: Index) -> None:
        if not parent.isValid():
            self._fetch()


class ModelList(QListView):
    """Signals:
    chosen(Row): the arrows or a click went to this row.
    activated_row(Row): Return or a double click on it.
    typed(str): a letter was typed that belongs into the search.
    """

    chosen = Signal(object)
    activated_row = Signal(object)
    typed = Signal(str)

    def __init__(self, can_fetch: Callable[[], bool], fetch: Callable[[], None]) -> None:
        super().__init__()
        self._rows = RowsModel(can_fetch, fetch, self)
        self._key = ""
        self._is_changing = False
        self.setModel(self._rows)
        self.setItemDelegate(RowDelegate(self))
        self.setProperty("role", "list")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setMouseTracking(True)
        self.setAccessibleName("Models")
        self.selectionModel().currentChanged.connect(self._on_current)
        self.clicked.connect(self._on_clicked)
        self.doubleClicked.connect(lambda index: self.activated_row.emit(index.data(ROW_ROLE)))

    @property
    def rows(self) -> tuple[Row, ...]:
        return self._rows.rows

    @property
    def key(self) -> str:
        """Return the key of the row that is chosen, "" for none."""
        return self._key

    def set_rows(self, rows: tuple[Row, ...]) -> None:
        """Show `rows`; the row that was chosen stays chosen if it is still there."""
        # Where the current row goes, Qt makes a neighbour the current one: nobody chose that.
        self._is_changing = True
        self._rows.set_rows(rows)
        if self._key and not self._point_at(self._key):
            self.setCurrentIndex(QModelIndex())
        self._is_changing = False

    def choose(self, key: str) -> bool:
        """Choose the row with `key`; returns whether there is one."""
        if not self._point_at(key):
            return False
        self.scrollTo(self.currentIndex())
        return True

    def choose_first(self) -> bool:
        """Choose the first row that is a model; returns whether there is one."""
        first = next((row.key for row in self.rows if row.can_be_chosen), "")
        return bool(first) and self.choose(first)

    def _point_at(self, key: str) -> bool:
        at = next((i for i, row in enumerate(self.rows) if row.key == key and row.can_be_chosen), None)
        if at is None:
            return False
        if self.currentIndex().row() != at:
            self.setCurrentIndex(self._rows.index(at))
        return True

    def _on_current(self, index: QModelIndex, _before: QModelIndex) -> None:
        row = index.data(ROW_ROLE)
        if self._is_changing:
            return
        if isinstance(row, Row) and row.key != self._key and row.can_be_chosen:
            self._key = row.key
            self.chosen.emit(row)

    def _on_clicked(self, index: QModelIndex) -> None:
        row = index.data(ROW_ROLE)
        if isinstance(row, Row) and row.kind is RowKind.NOTE:
            self.activated_row.emit(row)
        elif isinstance(row, Row) and row.can_be_chosen:
            # The row may be the current one and the detail elsewhere: at all versions of it.
            self.chosen.emit(row)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self.currentIndex().data(ROW_ROLE)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and isinstance(row, Row):
            self.activated_row.emit(row)
            return
        plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier)
        if plain and event.text().isprintable() and event.text().strip() and event.text() != "?":
            self.typed.emit(event.text())
            return
        super().keyPressEvent(event)


def _common(one: tuple[Row, ...], other: tuple[Row, ...]) -> int:
    """Return with how many rows of the same kind and key both begin."""
    n = 0
    for first, second in zip(one, other, strict=False):
        if (first.kind, first.key) != (second.kind, second.key):
            break
        n += 1
    return n
