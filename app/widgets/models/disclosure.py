"""A line that opens what lies below it."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.widgets.parts import button


class Disclosure(QWidget):
    """`body` is hidden until the button with `title` is pressed; `apart` leaves it to another place of the layout."""

    def __init__(self, title: str, body: QWidget, *, apart: bool = False) -> None:
        super().__init__()
        self._title = title
        self.body = body
        self.button = button(title, role="quiet", icon_name="chevron-right")
        self.button.setCheckable(True)
        self.button.toggled.connect(self._on_toggled)
        row = QHBoxLayout()
        row.addWidget(self.button)
        row.addStretch()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(row)
        if not apart:
            column.addWidget(body)
        body.hide()

    def _on_toggled(self, opened: bool) -> None:
        self.button.set_icon_name("chevron-down" if opened else "chevron-right")
        self.button.setAccessibleName(f"{self._title}, {'open' if opened else 'closed'}")
        self.body.setVisible(opened)
