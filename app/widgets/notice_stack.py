"""Notices beside a page, with room around them only while one is there."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.widgets.notice import Notice

_ROOM = (16, 8, 16, 8)


class NoticeStack(QWidget):
    """Takes no room while all of `notices` are hidden."""

    def __init__(self, *notices: Notice) -> None:
        super().__init__()
        self._notices = notices
        self._column = QVBoxLayout(self)
        self._column.setSpacing(8)
        for notice in notices:
            self._column.addWidget(notice)
            notice.installEventFilter(self)
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self._fit()
        return super().eventFilter(watched, event)

    def _fit(self) -> None:
        shown = any(not notice.isHidden() for notice in self._notices)
        self._column.setContentsMargins(*(_ROOM if shown else (0, 0, 0, 0)))
