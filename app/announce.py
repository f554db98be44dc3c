"""Tells a screen reader what has happened, once, instead of reading every token."""

from __future__ import annotations

from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget


def announce(widget: QWidget, words: str) -> None:
    """Have `words` said politely, after whatever is being said now."""
    QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, words))
