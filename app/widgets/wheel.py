"""Numbers that are not changed by the wheel that scrolls the page past them."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QAbstractSpinBox


class _LeaveWheel(QObject):
    def eventFilter(self, box: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Wheel and isinstance(box, QAbstractSpinBox) and not box.hasFocus():
            event.ignore()
            return True
        return False


def leave_wheel(box: QAbstractSpinBox) -> None:
    """Have `box` take the wheel only while it has the keyboard; else the page around it scrolls."""
    box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    box.installEventFilter(_LeaveWheel(box))
