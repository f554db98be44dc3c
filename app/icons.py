"""Lucide icons (ISC licence, resources/icons/LICENSE), tinted with a colour of the palette."""

from __future__ import annotations

from importlib.resources import files

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

_SIZES_PX = (16, 18, 20, 32, 36, 40)
_DISABLED_SIZES_PX = (18, 36)
_APP_SIZES_PX = (16, 24, 32, 48, 64, 128, 256)


def icon(name: str, colour: str, disabled: str | None = None) -> QIcon:
    """Return the icon `name` drawn in `colour` ("#rrggbb"), sharp at every scale; `disabled` is its greyed
    colour.
    """
    result = QIcon()
    svg = _svg(name)
    looks: list[tuple[QIcon.Mode, str, tuple[int, ...]]] = [(QIcon.Mode.Normal, colour, _SIZES_PX)]
    if disabled is not None:
        looks.append((QIcon.Mode.Disabled, disabled, _DISABLED_SIZES_PX))
    for mode, tint, sizes_px in looks:
        renderer = QSvgRenderer(QByteArray(svg.replace("currentColor", tint).encode()))
        for size_px in sizes_px:
            result.addPixmap(_drawn(renderer, size_px), mode)
    return result


def app_icon() -> QIcon:
    """Return the application's own icon."""
    result = QIcon()
    renderer = QSvgRenderer(QByteArray(_svg("slipstream").encode()))
    for size in _APP_SIZES_PX:
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
