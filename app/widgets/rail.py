"""The rail at the left: the pages above, downloads and appearance below."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QButtonGroup, QMenu, QVBoxLayout, QWidget

from app.models.state import ModelsState
from app.theme import ThemeChoice
from app.widgets.models.download_ring import DownloadRing
from app.widgets.parts import IconButton

RAIL_PX = 56
_TABS = (("message-square", "Chat"), ("columns-2", "Compare"), ("package", "Models"), ("gauge", "Tune"))
_THEME_WORDS = {ThemeChoice.SYSTEM: "As the system", ThemeChoice.LIGHT: "Light", ThemeChoice.DARK: "Dark"}
_THEME_ICONS = {ThemeChoice.SYSTEM: "monitor", ThemeChoice.LIGHT: "sun", ThemeChoice.DARK: "moon"}


class Rail(QWidget):
    """Signals:
    page_asked(int): a tab was pressed; pages count from 0.
    theme_chosen(ThemeChoice): from the menu of appearances.
    keys_asked: the list of shortcuts is wanted.
    """

    page_asked = Signal(int)
    theme_chosen = Signal(object)
    keys_asked = Signal()

    def __init__(self, models: ModelsState) -> None:
        super().__init__()
        self.setProperty("role", "rail")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedWidth(RAIL_PX)
        self._choice = ThemeChoice.SYSTEM
        self.tabs = QButtonGroup(self)
        self.tabs.idClicked.connect(self.page_asked)
        self.ring = DownloadRing(models)
        self.look = IconButton("monitor", "Appearance", size_px=40)
        self.look.clicked.connect(self._open_theme_menu)
        keys = IconButton("circle-question-mark", "Keyboard shortcuts", size_px=40, shortcut="?")
        keys.clicked.connect(self.keys_asked)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 12, 8, 8)
        column.setSpacing(4)
        for index, (icon_name, name) in enumerate(_TABS):
            tab = IconButton(icon_name, name, size_px=40, shortcut=_keys(f"Ctrl+{index + 1}"))
            tab.setCheckable(True)
            self.tabs.addButton(tab, index)
            column.addWidget(tab)
        column.addStretch()
        for one in (self.ring, self.look, keys):
            column.addWidget(one)

    def show_page(self, index: int) -> None:
        self.tabs.button(index).setChecked(True)

    def show_theme(self, choice: ThemeChoice) -> None:
        self._choice = choice
        self.look.set_icon_name(_THEME_ICONS[choice])
        self.look.set_name(f"Appearance: {_THEME_WORDS[choice].lower()}")

    def _open_theme_menu(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        group = QActionGroup(menu)
        for choice in ThemeChoice:
            action = QAction(_THEME_WORDS[choice], menu)
            action.setCheckable(True)
            action.setChecked(choice is self._choice)
            action.triggered.connect(lambda _=False, choice=choice: self.theme_chosen.emit(choice))
            group.addAction(action)
            menu.addAction(action)
        menu.popup(self.look.mapToGlobal(self.look.rect().topRight()))


def _keys(sequence: str) -> str:
    return QKeySequence(sequence).toString(QKeySequence.SequenceFormat.NativeText)
