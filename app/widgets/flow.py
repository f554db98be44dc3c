"""A layout that fills lines from left to right and begins another where the room ends."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowLayout(QLayout):
    """`gap_px` between neighbours, `line_px` between lines."""

    def __init__(self, parent: QWidget | None = None, *, gap_px: int = 8, line_px: int = 8) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._gap_px, self._line_px = gap_px, line_px
        self.setContentsMargins(0, 0, 0, 0)

    def clear(self) -> None:
        """Take every widget out and delete it."""
        # A widget that loses its parent has Qt take its item out of the list as well.
        items, self._items = self._items, []
        for item in items:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.setParent(None)
                widget.deleteLater()
        self.invalidate()

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._place(QRect(0, 0, width, 0), moves=False)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        sizes = [item.sizeHint() for item in self._items if not item.isEmpty()]
        return QSize(max((s.width() for s in sizes), default=0), max((s.height() for s in sizes), default=0))

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._place(rect, moves=True)

    def _place(self, rect: QRect, *, moves: bool) -> int:
        """Return the height that the lines take in `rect`'s width; put the items there if it `moves` them."""
        x, y, line_height = rect.x(), rect.y(), 0
        line: list[tuple[QLayoutItem, QRect]] = []
        for item in self._items:
            if item.isEmpty():
                continue
            size = item.sizeHint()
            if x > rect.x() and x + size.width() > rect.right() + 1:
                _put(line, line_height, moves=moves)
                x, y, line_height = rect.x(), y + line_height + self._line_px, 0
            line.append((item, QRect(QPoint(x, y), size)))
            x += size.width() + self._gap_px
            line_height = max(line_height, size.height())
        _put(line, line_height, moves=moves)
        return y + line_height - rect.y()


def _put(line: list[tuple[QLayoutItem, QRect]], height: int, *, moves: bool) -> None:
    """Put the items of a line beside each other, their middles at one height, and empty it."""
    if moves:
        for item, place in line:
            item.setGeometry(place.translated(0, (height - place.height()) // 2))
    line.clear()
