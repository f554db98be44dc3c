"""Light, dark or as the system: one palette applied to everything, and the few style rules made from it.

The platform is asked through QStyleHints.setColorScheme; where that has no effect (offscreen, a bare X
server) the palette alone decides.
"""

from __future__ import annotations

import sys
from enum import StrEnum

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QApplication, QStyleFactory

from app.palette import DARK, LIGHT, Colours, qpalette
from app.style import style_rules


class ThemeChoice(StrEnum):
    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


_SCHEMES = {
    ThemeChoice.SYSTEM: Qt.ColorScheme.Unknown,
    ThemeChoice.LIGHT: Qt.ColorScheme.Light,
    ThemeChoice.DARK: Qt.ColorScheme.Dark,
}


class Theme(QObject):
    """Keeps the application's colours as chosen.

    Signals:
        changed: the colours are other ones now.
    """

    changed = Signal()

    def __init__(self, app: QApplication, choice: ThemeChoice = ThemeChoice.SYSTEM) -> None:
        super().__init__(app)
        self._app = app
        self._choice = choice
        self._applied: Colours | None = None
        if sys.platform != "darwin":
            app.setStyle(QStyleFactory.create("Fusion"))
        app.styleHints().colorSchemeChanged.connect(self._apply)
        self.choose(choice)

    @property
    def choice(self) -> ThemeChoice:
        return self._choice

    def choose(self, choice: ThemeChoice) -> None:
        """Apply `choice` now."""
        self._choice = choice
        self._app.styleHints().setColorScheme(_SCHEMES[choice])
        self._apply()

    def _apply(self) -> None:
        colours = self._wanted()
        if colours is self._applied:
            return
        self._applied = colours
        self._app.setPalette(qpalette(colours))
        self._app.setStyleSheet(style_rules(colours))
        self.changed.emit()

    def _wanted(self) -> Colours:
        if self._choice is not ThemeChoice.SYSTEM:
            return DARK if self._choice is ThemeChoice.DARK else LIGHT
        return DARK if self._app.styleHints().colorScheme() == Qt.ColorScheme.Dark else LIGHT
