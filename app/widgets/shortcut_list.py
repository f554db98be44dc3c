"""The list of keyboard shortcuts, over the window until something else is clicked."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QGridLayout, QWidget

from app import fonts
from app.widgets.parts import Popover, label

_SHORTCUTS = (
    ("Return", "Send, or run the comparison"),
    ("Ctrl+Return", "Do what the page is for"),
    ("Shift+Return", "New line"),
    ("Esc", "Stop"),
    ("Ctrl+1", "Chat"),
    ("Ctrl+2", "Compare"),
    ("Ctrl+3", "Models"),
    ("Ctrl+4", "Tune"),
    ("Ctrl+N", "New chat"),
    ("Ctrl+R", "Answer again"),
    ("Ctrl+Shift+C", "Copy the last answer"),
    ("?", "This list"),
)


def show_shortcuts(parent: QWidget) -> Popover:
    """Open the list in the middle of `parent`."""
    popover = Popover(parent)
    popover.setAccessibleName("Keyboard shortcuts")
    popover.body.setContentsMargins(24, 16, 24, 20)
    popover.body.addWidget(label("Keyboard", font=fonts.title()))
    grid = QGridLayout()
    grid.setHorizontalSpacing(32)
    grid.setVerticalSpacing(6)
    for row, (keys, what) in enumerate(_SHORTCUTS):
        native = QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
        grid.addWidget(label(what), row, 0)
        grid.addWidget(label(native, tone="muted", font=fonts.strong()), row, 1)
    popover.body.addLayout(grid)
    popover.adjustSize()
    middle = parent.mapToGlobal(parent.rect().center())
    popover.move(middle - QPoint(popover.width() // 2, popover.height() // 2))
    popover.show()
    return popover
