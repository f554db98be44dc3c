"""Paints speed-up over draft length: on the page and on the picture to share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from app.palette import Colours
from app.tune.chart_data import ChartLine, Scale, scale_of, spread_apart
from app.tune.summary import mode_words
from engine.bench.plan import AUTO

_TICK_GAP_PX = 8.0
_NAME_GAP_PX = 10.0
_DOT_PX, _RING_PX = 2.5, 6.0
_AXIS_WORDS = "Draft length"


@dataclass(frozen=True, slots=True)
class ChartLook:
    """What a chart is painted with; `chosen` names the line that stands out beside that of all kinds."""

    colours: Colours
    small: QFont
    strong: QFont
    chosen: str = ""


class ChartPainter:
    """Paints `lines` into `area`."""

    def __init__(self, painter: QPainter, area: QRectF, lines: Sequence[ChartLine], look: ChartLook) -> None:
        self._painter = painter
        self._lines = lines
        self._look = look
        self._scale: Scale = scale_of(lines)
        metrics = QFontMetricsF(look.small)
        strong = QFontMetricsF(look.strong)
        self._line_px = metrics.height()
        tick_px = max((metrics.horizontalAdvance(_tick(one)) for one in self._scale.ticks), default=0.0)
        names_px = max((strong.horizontalAdvance(line.name) for line in lines), default=0.0)
        self._plane = area.adjusted(
            tick_px + _TICK_GAP_PX,
            self._line_px / 2 + 2,
            -(names_px + _NAME_GAP_PX + 12),
            -(2 * self._line_px + 10),
        )

    def paint(self) -> None:
        self._painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_grid()
        self._paint_modes()
        quiet = [line for line in self._lines if not self._stands_out(line)]
        for line in (*quiet, *(line for line in self._lines if self._stands_out(line))):
            self._paint_line(line)
        self._paint_names()

    def _stands_out(self, line: ChartLine) -> bool:
        return line.is_overall or line.name == self._look.chosen

    def _point(self, mode: str, speedup: float) -> QPointF:
        x = self._plane.left() + self._plane.width() * self._scale.x_of(mode)
        return QPointF(x, self._plane.bottom() - self._plane.height() * self._scale.y_of(speedup))

    def _colour(self, line: ChartLine) -> str:
        return "accent" if line.is_overall else "drafter" if self._stands_out(line) else "control_line"

    def _paint_grid(self) -> None:
        colours, plane = self._look.colours, self._plane
        self._painter.setFont(self._look.small)
        for tick in self._scale.ticks:
            y = plane.bottom() - plane.height() * self._scale.y_of(tick)
            is_even = abs(tick - 1.0) < 1e-9
            self._painter.setPen(QPen(colours.colour("control_line" if is_even else "line"), 1))
            self._painter.drawLine(QPointF(plane.left(), y), QPointF(plane.right(), y))
            self._painter.setPen(colours.colour("text" if is_even else "muted"))
            box = QRectF(0, y - self._line_px, plane.left() - _TICK_GAP_PX, 2 * self._line_px)
            self._painter.drawText(
                box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, _tick(tick)
            )

    def _paint_modes(self) -> None:
        self._painter.setPen(self._look.colours.colour("muted"))
        below = self._plane.bottom() + 6
        for mode, place in self._scale.places:
            x = self._plane.left() + self._plane.width() * place
            box = QRectF(x - 40, below, 80, self._line_px)
            self._painter.drawText(box, Qt.AlignmentFlag.AlignCenter, mode_words(mode))
        box = QRectF(self._plane.left(), below + self._line_px + 2, self._plane.width(), self._line_px)
        self._painter.drawText(box, Qt.AlignmentFlag.AlignCenter, _AXIS_WORDS)

    def _paint_line(self, line: ChartLine) -> None:
        colour = self._look.colours.colour(self._colour(line))
        width = 2.5 if self._stands_out(line) else 1.2
        pen = QPen(colour, width)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        self._painter.setPen(pen)
        self._painter.setBrush(Qt.BrushStyle.NoBrush)
        fixed = [point for point in line.points if point.mode != AUTO]
        path = QPainterPath()
        for i, point in enumerate(fixed):
            at = self._point(point.mode, point.speedup)
            if i:
                path.lineTo(at)
            else:
                path.moveTo(at)
        self._painter.drawPath(path)
        self._paint_way_to_auto(line, pen)
        self._paint_dots(line)

    def _paint_way_to_auto(self, line: ChartLine, pen: QPen) -> None:
        """Auto is no length: a dotted line leads to it."""
        if len(line.points) > 1 and line.points[-1].mode == AUTO:
            dotted = QPen(pen)
            dotted.setStyle(Qt.PenStyle.DotLine)
            self._painter.setPen(dotted)
            before, auto = line.points[-2], line.points[-1]
            self._painter.drawLine(self._point(before.mode, before.speedup), self._point(AUTO, auto.speedup))

    def _paint_dots(self, line: ChartLine) -> None:
        colours = self._look.colours
        colour = colours.colour(self._colour(line))
        for point in line.points:
            at = self._point(point.mode, point.speedup)
            if self._stands_out(line) and point.mode == line.best:
                self._painter.setPen(QPen(colour, 2))
                self._painter.setBrush(colours.colour("base"))
                self._painter.drawEllipse(at, _RING_PX, _RING_PX)
            self._painter.setPen(Qt.PenStyle.NoPen)
            self._painter.setBrush(colour)
            self._painter.drawEllipse(at, _DOT_PX, _DOT_PX)

    def _paint_names(self) -> None:
        """Name each line at its end; names keep apart, and a thin line leads to one that had to give way."""
        ends = [self._point(line.points[-1].mode, line.points[-1].speedup) for line in self._lines]
        low = self._plane.top() - self._line_px / 2
        high = self._plane.bottom() + self._line_px / 2
        places = spread_apart([end.y() for end in ends], self._line_px + 1, low, high)
        left = self._plane.right() + _NAME_GAP_PX
        for line, end, y in zip(self._lines, ends, places, strict=True):
            colours = self._look.colours
            self._painter.setPen(QPen(colours.colour("line"), 1))
            self._painter.drawLine(end + QPointF(4, 0), QPointF(left - 3, y))
            stands_out = self._stands_out(line)
            self._painter.setFont(self._look.strong if stands_out else self._look.small)
            self._painter.setPen(colours.colour(self._colour(line) if stands_out else "muted"))
            box = QRectF(left, y - self._line_px, 400, 2 * self._line_px)
            self._painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, line.name)


def _tick(speedup: float) -> str:
    return f"{speedup:.2f}".rstrip("0").rstrip(".") + "×"
