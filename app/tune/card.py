"""The result of a bench as a picture to share."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QImage, QPainter, QPen

from app import fonts
from app.palette import LIGHT, Colours
from app.tune.chart_data import lines_of
from app.tune.chart_paint import ChartLook, ChartPainter
from app.tune.summary import Figure, best_mode_of, cell_words, headline, mode_words, modes_of, rows_of
from app.tune.words import circumstances
from engine.bench.results import BenchResult

_WIDTH_PX, _MARGIN_PX, _CHART_PX = 1120, 40, 420
_SCALE = 2
"""Twice as many dots as its size says, so that it is sharp on any screen."""
_NAME_PX, _ROW_PX = 160, 30


def card_image(result: BenchResult) -> QImage:
    """Return the card, always light: it leaves the window."""
    height_px = _MARGIN_PX * 2 + 96 + _CHART_PX + 24 + _ROW_PX * (len(rows_of(result)) + 1) + 44
    image = QImage(_WIDTH_PX * _SCALE, height_px * _SCALE, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(_SCALE)
    image.fill(LIGHT.colour("base"))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    _Card(painter, result, height_px).paint()
    painter.end()
    return image


class _Card:
    def __init__(self, painter: QPainter, result: BenchResult, height_px: int) -> None:
        self._painter = painter
        self._result = result
        self._height_px = height_px
        self._colours: Colours = LIGHT
        self._right = _WIDTH_PX - _MARGIN_PX

    def paint(self) -> None:
        self._write(fonts.heading(), "text", headline(self._result), _MARGIN_PX, _MARGIN_PX, 32)
        self._write(fonts.small(), "muted", circumstances(self._result), _MARGIN_PX, _MARGIN_PX + 40, 24)
        area = QRectF(_MARGIN_PX, _MARGIN_PX + 84, _WIDTH_PX - 2 * _MARGIN_PX, _CHART_PX)
        look = ChartLook(self._colours, fonts.tabular(fonts.small()), fonts.tabular(fonts.small_strong()))
        self._painter.save()
        self._painter.translate(area.topLeft())
        ChartPainter(
            self._painter, QRectF(0, 0, area.width(), area.height()), lines_of(self._result), look
        ).paint()
        self._painter.restore()
        self._paint_table(area.bottom() + 24)
        machine = self._result.machine
        versions = f"Slipstream {machine.slipstream} · llama.cpp {machine.llama_cpp}"
        made = f"{versions} · {machine.system}"
        self._write(fonts.small(), "muted", made, _MARGIN_PX, self._height_px - _MARGIN_PX - 20, 24)

    def _paint_table(self, top: float) -> None:
        modes = modes_of(self._result)
        if not modes:
            return
        width = (self._right - _MARGIN_PX - _NAME_PX) / len(modes)
        for i, mode in enumerate(modes):
            self._cell(fonts.small(), "muted", mode_words(mode), self._column(i, width), top)
        self._painter.setPen(QPen(self._colours.colour("line"), 1))
        self._painter.drawLine(QPointF(_MARGIN_PX, top + _ROW_PX), QPointF(self._right, top + _ROW_PX))
        for y, (name, figures) in enumerate(rows_of(self._result), start=1):
            font = fonts.strong() if y == 1 else fonts.body()
            self._write(font, "text", name, _MARGIN_PX, top + y * _ROW_PX, _ROW_PX)
            best = best_mode_of(figures)
            for i, one in enumerate(figures):
                is_best = one is not None and one is best
                cell = fonts.tabular(fonts.strong() if is_best or y == 1 else fonts.body())
                said = cell_words(one, Figure.SPEEDUP)
                self._cell(
                    cell, "accent" if is_best else "text", said, self._column(i, width), top + y * _ROW_PX
                )

    def _column(self, i: int, width: float) -> QRectF:
        return QRectF(_MARGIN_PX + _NAME_PX + i * width, 0, width, _ROW_PX)

    def _cell(self, font: QFont, colour: str, text: str, column: QRectF, top: float) -> None:
        self._painter.setFont(font)
        self._painter.setPen(self._colours.colour(colour))
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        self._painter.drawText(column.translated(0, top), flags, text)

    def _write(self, font: QFont, colour: str, text: str, x: float, y: float, height: float) -> None:
        self._painter.setFont(font)
        self._painter.setPen(self._colours.colour(colour))
        room = self._right - x
        shown = QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, room)
        flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        self._painter.drawText(QRectF(x, y, room, height), flags, shown)
