"""Lucide icons (ISC licence, resources/icons/LICENSE), tinted with a colour of the palette."""

from __future__ import annotations

from importlib.resources import files

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

_SIZES_PX = (16, 20, 24, 32, 40, 48, 64)


def icon(name: str, colour: str, disabled: str | None = None) -> QIcon:
    """Return the icon `name` drawn in `colour` ("#rrggbb"), sharp at every scale; `disabled` is its greyed
    colour.
    """
    result = QIcon()
    svg = _svg(name)
    for mode, tint in ((QIcon.Mode.Normal, colour), (QIcon.Mode.Disabled, disabled or colour)):
        renderer = QSvgRenderer(QByteArray(svg.replace("currentColor", tint).encode()))
        for size in _SIZES_PX:
            result.addPixmap(_drawn(renderer, size), mode)
    return result


def app_icon() -> QIcon:
    """Return the application's own icon."""
    result = QIcon()
    renderer = QSvgRenderer(QByteArray(_svg("slipstream").encode()))
    for size in (*_SIZES_PX, 128, 256):
        result.addPixmap(_drawn(renderer, size))
    return result


def _svg(name: str) -> str:
    return files("resources").joinpath("icons", f"{name}.svg").read_text(encoding="utf-8")


def _drawn(renderer: QSvgRenderer, size_px: int) -> QPixmap:
    pixmap = QPixmap(size_px, size_px)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(0, 0, size_px, size_px))
    painter.end()
    return pixmap
