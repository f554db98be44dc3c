"""The search with its filters: what is typed filters what is here and asks the Hub."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QIcon, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QMenu, QToolButton, QVBoxLayout, QWidget

from app.icons import icon
from app.models.rows import Filter
from app.palette import current_colours
from app.widgets.parts import IconButton, TintedButton, button
from engine.hub.listing import HubSort

_SIZES = (
    ("Any size", (0, 0)),
    ("Up to 4 billion weights", (0, 4_500_000_000)),
    ("4 to 15 billion", (3_500_000_000, 15_500_000_000)),
    ("15 to 40 billion", (15_000_000_000, 40_000_000_000)),
    ("Over 40 billion", (40_000_000_000, 0)),
)
_SORTS = (
    ("Hub: what people try now", HubSort.TRENDING),
    ("Hub: most downloads", HubSort.DOWNLOADS),
    ("Hub: most liked", HubSort.LIKES),
    ("Hub: newest", HubSort.NEWEST),
    ("Hub: changed last", HubSort.UPDATED),
)


class SearchBar(QWidget):
    """Signals:
    changed(Filter): something else is looked for.
    sort_changed(HubSort): the Hub is to be sorted otherwise.
    left: Down or Return was pressed; the list takes over.
    """

    changed = Signal(object)
    sort_changed = Signal(object)
    left = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._filter = Filter()
        self._sort = HubSort.TRENDING
        self.edit = QLineEdit()
        self.edit.setPlaceholderText("Search here and on the Hub")
        self.edit.setAccessibleName("Search models")
        self.edit.setClearButtonEnabled(True)
        for one in self.edit.findChildren(QToolButton):
            one.setAccessibleName("Clear the search")
        self._glass = self.edit.addAction(self._glass_icon(), QLineEdit.ActionPosition.LeadingPosition)
        for one in self.edit.findChildren(QToolButton):
            one.setAccessibleName(one.accessibleName() or "Search")
        self.edit.textChanged.connect(lambda text: self._change(text=text.strip()))
        self.edit.installEventFilter(self)
        self.more = IconButton("sliders-horizontal", "Size and order", size_px=32)
        self.more.clicked.connect(self._open_menu)
        self.fitting = self._chip("Fits here", "Leave out what does not fit this computer")
        self.drafted = self._chip("With drafter", "Only models that come with a drafter of their own")
        self.fitting.toggled.connect(lambda on: self._change(only_fitting=on))
        self.drafted.toggled.connect(lambda on: self._change(only_drafted=on))
        first, second = QHBoxLayout(), QHBoxLayout()
        self._tools = first
        first.setSpacing(4)
        second.setSpacing(6)
        first.addWidget(self.edit, 1)
        first.addWidget(self.more)
        second.addWidget(self.fitting)
        second.addWidget(self.drafted)
        second.addStretch()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addLayout(first)
        column.addLayout(second)

    @property
    def filter(self) -> Filter:
        return self._filter

    def add_tool(self, tool: QWidget) -> None:
        """Put `tool` at the end of the search's line."""
        self._tools.addWidget(tool)

    def type_in(self, text: str) -> None:
        """Go on typing here what was begun in the list."""
        self.edit.setFocus()
        self.edit.insert(text)

    def _chip(self, text: str, tip: str) -> TintedButton:
        chip = button(text, role="chip", tip=tip)
        chip.setCheckable(True)
        return chip

    def _change(self, **fields: object) -> None:
        changed = replace(self._filter, **fields)  # type: ignore[arg-type]
        if changed != self._filter:
            self._filter = changed
            self.changed.emit(changed)

    def _open_menu(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.fill(menu)
        menu.popup(self.more.mapToGlobal(QPoint(0, self.more.height() + 4)))

    def fill(self, menu: QMenu) -> None:
        """Put the sizes and orders into `menu`."""
        sizes, sorts = QActionGroup(menu), QActionGroup(menu)
        for text, params in _SIZES:
            action = self._add(menu, sizes, text, params == self._filter.params)
            action.triggered.connect(lambda _=False, params=params: self._change(params=params))
        menu.addSeparator()
        for text, sort in _SORTS:
            action = self._add(menu, sorts, text, sort is self._sort)
            action.triggered.connect(lambda _=False, sort=sort: self._choose_sort(sort))

    def _add(self, menu: QMenu, group: QActionGroup, text: str, checked: bool) -> QAction:
        action = menu.addAction(text)
        action.setCheckable(True)
        action.setChecked(checked)
        group.addAction(action)
        return action

    def _choose_sort(self, sort: HubSort) -> None:
        if sort is not self._sort:
            self._sort = sort
            self.sort_changed.emit(sort)

    def _glass_icon(self) -> QIcon:
        return icon("search", current_colours().muted)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            # Escape stops things everywhere else in the window.
            if event.key() == Qt.Key.Key_Escape and self.edit.text():
                event.accept()
        elif isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.left.emit()
                return True
            if event.key() == Qt.Key.Key_Escape and self.edit.text():
                self.edit.clear()
                return True
        return super().eventFilter(watched, event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._glass.setIcon(self._glass_icon())
