"""A device's memory as one bar in parts, and the legend that names them."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from app import fonts
from app.format import memory_size
from app.models.memory import DeviceBar, Part
from app.palette import current_colours
from app.widgets.elided import ElidedLabel
from app.widgets.flow import FlowLayout
from app.widgets.parts import label, set_tone

_BAR_PX = 16
_SWATCH_PX = 10
_HATCH_PX = 5
_PALE = 0.45
"""How much of it is seen of numbers that are being worked out anew."""


def paint_part(painter: QPainter, rect: QRectF, colour: str) -> None:
    """Fill `rect` with a colour of the palette, or with hatching for what is kept free."""
    colours = current_colours()
    if colour:
        painter.fillRect(rect, colours.colour(colour))
        return
    painter.save()
    painter.setClipRect(rect)
    painter.setPen(QPen(colours.colour("control_line"), 1))
    x = rect.left() - rect.height()
    while x < rect.right():
        painter.drawLine(QPointF(x, rect.bottom()), QPointF(x + rect.height(), rect.top()))
        x += _HATCH_PX
    painter.restore()


class _Bar(QWidget):
    """The painted bar: parts with gaps between them, what is left free, and a line where memory ends."""

    def __init__(self) -> None:
        super().__init__()
        self._bar: DeviceBar | None = None
        self.setFixedHeight(_BAR_PX + 4)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_bar(self, bar: DeviceBar) -> None:
        self._bar = bar
        self.setAccessibleName(bar.spoken)
        self.update()

    def _stretches(self) -> list[tuple[QRectF, Part]]:
        if self._bar is None:
            return []
        whole = max(self._bar.free_bytes, self._bar.used_bytes + self._bar.kept_bytes, 1)
        x, found = 0.0, []
        for part in self._bar.parts:
            width = self.width() * part.n_bytes / whole
            found.append((QRectF(x, 2, max(1.0, width - 1.5), _BAR_PX), part))
            x += width
        return found

    def paintEvent(self, _event: QPaintEvent) -> None:
        colours = current_colours()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setOpacity(1.0 if self.isEnabled() else _PALE)
        ground = QRectF(0.5, 2.5, self.width() - 1, _BAR_PX - 1)
        path = QPainterPath()
        path.addRoundedRect(ground, 4, 4)
        painter.fillPath(path, colours.colour("card"))
        painter.save()
        painter.setClipPath(path)
        for rect, part in self._stretches():
            paint_part(painter, rect, part.colour)
        painter.restore()
        painter.setPen(QPen(colours.colour("line"), 1))
        painter.drawPath(path)
        if self._bar is not None and self._bar.is_short:
            x = self.width() * self._bar.free_bytes / (self._bar.used_bytes + self._bar.kept_bytes)
            self._paint_end(painter, x, colours.colour("error"))

    def _paint_end(self, painter: QPainter, x: float, colour: QColor) -> None:
        painter.setPen(QPen(colour, 2))
        painter.drawLine(QPointF(x, 0), QPointF(x, self.height()))

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip and self._bar is not None:
            found = [part for rect, part in self._stretches() if rect.contains(QPointF(event.pos()))]
            free = f"Free beside it: {memory_size(self._bar.left_bytes)}"
            QToolTip.showText(event.globalPos(), found[0].tip if found else free, self)
            return True
        return super().event(event)


class MemoryBar(QWidget):
    """The bar of one device with its name and its numbers above."""

    def __init__(self) -> None:
        super().__init__()
        self._name = ElidedLabel(font=fonts.small())
        self._numbers = label(font=fonts.tabular(fonts.small()), tone="muted")
        self._bar = _Bar()
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self._name, 1)
        head.addWidget(self._numbers)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3)
        column.addLayout(head)
        column.addWidget(self._bar)

    @property
    def caption(self) -> str:
        return self._numbers.text()

    def set_bar(self, bar: DeviceBar) -> None:
        name = f"{bar.device} · {bar.description}" if bar.description else bar.device
        self._name.set_words(name)
        self._name.setToolTip(
            f"{name}\n{memory_size(bar.free_bytes)} free of {memory_size(bar.total_bytes)}; "
            "GiB are 1024³ bytes, as memory is counted."
        )
        self._numbers.setText(bar.caption)
        kept = memory_size(bar.kept_bytes)
        self._numbers.setToolTip(f"{kept} of it stay free for everything else." if bar.is_short else "")
        set_tone(self._numbers, "error" if bar.is_short else "muted")
        self._bar.set_bar(bar)


class _Entry(QWidget):
    """A swatch with its words."""

    def __init__(self) -> None:
        super().__init__()
        self._colour = ""
        self._words = label(font=fonts.tabular(fonts.small()))
        row = QHBoxLayout(self)
        row.setContentsMargins(_SWATCH_PX + 6, 0, 0, 0)
        row.addWidget(self._words)

    def set_part(self, part: Part) -> None:
        self._colour = part.colour
        self._words.setText(f"{part.name} {memory_size(part.n_bytes)}")
        self.setToolTip(part.tip)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setOpacity(1.0 if self.isEnabled() else _PALE)
        rect = QRectF(0, round((self.height() - _SWATCH_PX) / 2), _SWATCH_PX, _SWATCH_PX)
        paint_part(painter, rect, self._colour)
        if not self._colour:
            painter.setPen(QPen(current_colours().colour("control_line"), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5))


class MemoryLegend(QWidget):
    """What each colour stands for, with its bytes."""

    def __init__(self) -> None:
        super().__init__()
        self._flow = FlowLayout(self, gap_px=16, line_px=4)
        self._entries: list[_Entry] = []
        self._parts: tuple[Part, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(f"{part.name} {memory_size(part.n_bytes)}" for part in self._parts)

    def set_parts(self, parts: tuple[Part, ...]) -> None:
        if parts == self._parts:
            return
        self._parts = parts
        while len(self._entries) < len(parts):
            self._entries.append(_Entry())
            self._flow.addWidget(self._entries[-1])
        for i, entry in enumerate(self._entries):
            entry.setVisible(i < len(parts))
            if i < len(parts):
                entry.set_part(parts[i])
        self.updateGeometry()
