"""Asks before a link of an answer is opened: it shows where it leads."""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app import fonts
from app.widgets.parts import Popover, button, label

_OPENABLE = ("http", "https", "mailto")


def ask_about_link(parent: QWidget, url: QUrl) -> Popover:
    """Show `url` with a button to copy it and, where it leads to the web, one to open it."""
    popover = Popover(parent)
    popover.body.addWidget(label("A link in the answer", font=fonts.strong()))
    where = label(url.toString(), wraps=True)
    where.setMinimumWidth(320)
    popover.body.addWidget(where)
    copy = button("Copy")
    copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(url.toString()))
    copy.clicked.connect(popover.close)
    row = QHBoxLayout()
    row.addStretch()
    row.addWidget(copy)
    if url.scheme() in _OPENABLE:
        go = button("Open in browser", role="primary")
        go.clicked.connect(lambda: QDesktopServices.openUrl(url))
        go.clicked.connect(popover.close)
        row.addWidget(go)
    popover.body.addLayout(row)
    popover.adjustSize()
    corner = parent.cursor().pos()
    popover.move(corner)
    popover.show()
    return popover
