"""What a look at the window would find: text that is cut, and things that lie on or beside each other wrongly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QLabel, QSlider, QWidget

from app.widgets.elided import ElidedLabel

LEAVES = (QLabel, QAbstractButton, QAbstractSpinBox, QSlider)


def leaves(widget: QWidget) -> Iterator[QWidget]:
    """Yield the visible labels, buttons, boxes of numbers and sliders inside `widget`."""
    for child in widget.findChildren(QWidget):
        if child.isVisible() and isinstance(child, LEAVES):
            yield child


def rect_in(widget: QWidget, window: QWidget) -> QRect:
    return QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())


def cut(widget: QWidget) -> bool:
    """Whether `widget` shows less than its text needs."""
    if isinstance(widget, ElidedLabel):
        return widget.height() < widget.sizeHint().height() - 1
    if isinstance(widget, QLabel):
        needed = widget.heightForWidth(widget.width()) if widget.wordWrap() else widget.sizeHint().height()
        width = 0 if widget.wordWrap() else widget.sizeHint().width()
        return bool(widget.text()) and (widget.height() < needed - 1 or widget.width() < width - 1)
    if isinstance(widget, QAbstractSpinBox):
        edit, metrics = widget.lineEdit(), widget.fontMetrics()
        return edit.height() < metrics.height() or edit.width() < metrics.horizontalAdvance(widget.text())
    return widget.height() < widget.minimumSizeHint().height() - 1


def overlapping(shown: Sequence[QWidget], window: QWidget) -> list[tuple[str, str]]:
    """Return the names of neighbours that lie on each other."""
    return [
        (one.accessibleName(), other.accessibleName())
        for i, one in enumerate(shown)
        for other in shown[i + 1 :]
        if one.parentWidget() is other.parentWidget()
        and rect_in(one, window).intersects(rect_in(other, window))
    ]


def outside(shown: Sequence[QWidget], window: QWidget) -> list[QWidget]:
    """Return what sticks out of the window to the left or to the right."""
    room = window.rect().adjusted(0, -4000, 1, 4000)
    return [widget for widget in shown if not room.contains(rect_in(widget, window))]
