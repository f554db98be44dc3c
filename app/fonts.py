"""The few sizes of type, all relative to the system's font."""

from __future__ import annotations

from PySide6.QtGui import QFont, QFontDatabase
from PySide6.QtWidgets import QApplication

_SMALL = 0.87
_TITLE = 1.15
_HEADING = 1.3
_FIGURE = 2.2
_CODE = 0.95


def body() -> QFont:
    return QApplication.font()


def small() -> QFont:
    return _scaled(body(), _SMALL)


def small_strong() -> QFont:
    font = small()
    font.setWeight(QFont.Weight.DemiBold)
    return font


def title() -> QFont:
    """Return the font of a pane's title."""
    font = _scaled(body(), _TITLE)
    font.setWeight(QFont.Weight.DemiBold)
    return font


def heading() -> QFont:
    font = _scaled(body(), _HEADING)
    font.setWeight(QFont.Weight.DemiBold)
    return font


def strong() -> QFont:
    font = QFont(body())
    font.setWeight(QFont.Weight.DemiBold)
    return font


def figure() -> QFont:
    """Return the font of a pane's one big number."""
    font = tabular(_scaled(body(), _FIGURE))
    font.setWeight(QFont.Weight.Light)
    return font


def code() -> QFont:
    font = _scaled(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont), 1.0)
    font.setPointSizeF(body().pointSizeF() * _CODE)
    return font


def tabular(font: QFont) -> QFont:
    """Return `font` with digits of one width, so that changing numbers do not jump."""
    font = QFont(font)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def _scaled(font: QFont, factor: float) -> QFont:
    font = QFont(font)
    font.setPointSizeF(body().pointSizeF() * factor)
    return font
