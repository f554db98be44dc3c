"""A slider over the context lengths that were asked, with a mark where memory ends."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QSlider, QVBoxLayout, QWidget

from app import fonts
from app.format import context
from app.models.words import fits_until
from app.palette import current_colours

_HANDLE_PX = 16
_MARK_PX = 7


class _Scale(QWidget):
    """Below the slider: the lengths, and the mark with its words."""

    def __init__(self) -> None:
        super().__init__()
        self.contexts: tuple[int, ...] = ()
        self.largest_fit = 0
        self.setFont(fonts.tabular(fonts.small()))
        self.setFixedHeight(2 * self.fontMetrics().height() + 4)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def _x(self, place: float) -> float:
        """Return where the handle's middle is at `place`, which counts the contexts from 0."""
        room = self.width() - _HANDLE_PX
        return _HANDLE_PX / 2 + room * place / max(1, len(self.contexts) - 1)

    def _place_of_mark(self) -> float | None:
        """Return where the largest context that fits lies between its neighbours, None where all fit or none."""
        if not self.contexts or self.largest_fit >= self.contexts[-1] or self.largest_fit <= 0:
            return None
        below = [i for i, n_ctx in enumerate(self.contexts) if n_ctx <= self.largest_fit]
        if not below:
            return 0.0
        at, n_ctx = below[-1], self.contexts[below[-1]]
        return at + math.log(self.largest_fit / n_ctx) / math.log(self.contexts[at + 1] / n_ctx)

    def paintEvent(self, _event: QPaintEvent) -> None:
        colours = current_colours()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        line_px = self.fontMetrics().height()
        for i, n_ctx in enumerate(self.contexts):
            fits = n_ctx <= self.largest_fit
            painter.setPen(colours.colour("muted" if fits else "disabled"))
            painter.drawText(
                self._box(self._x(i), 0, context(n_ctx)), int(Qt.AlignmentFlag.AlignCenter), context(n_ctx)
            )
        place = self._place_of_mark()
        if place is None:
            return
        x = self._x(place)
        tint = colours.colour("warning")
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tint)
        top = line_px + 1.0
        painter.drawPolygon(
            QPolygonF([QPointF(x, top), QPointF(x - 4, top + _MARK_PX), QPointF(x + 4, top + _MARK_PX)])
        )
        painter.setPen(QPen(tint, 1))
        words = fits_until(self.largest_fit)
        width = self.fontMetrics().horizontalAdvance(words) + 4
        left = x + 9 if x + 9 + width <= self.width() else x - 9 - width
        painter.drawText(QRectF(left, line_px, width, line_px + 2), int(Qt.AlignmentFlag.AlignCenter), words)

    def _box(self, x: float, y: float, text: str) -> QRectF:
        width = self.fontMetrics().horizontalAdvance(text) + 4
        left = min(max(0.0, x - width / 2), self.width() - width)
        return QRectF(left, y, width, self.fontMetrics().height())


class ContextSlider(QWidget):
    """Signals:
    changed(int): another context, in tokens.
    """

    changed = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._contexts: tuple[int, ...] = ()
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName("Context")
        self.slider.setPageStep(1)
        self.slider.setMinimumWidth(120)
        self.slider.setFixedHeight(_HANDLE_PX + 6)
        self._scale = _Scale()
        self.setFocusProxy(self.slider)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.slider)
        column.addWidget(self._scale)
        self.slider.valueChanged.connect(self._on_value)

    @property
    def n_ctx(self) -> int:
        return self._contexts[self.slider.value()] if self._contexts else 0

    @property
    def mark(self) -> str:
        """Return what the mark says, "" where there is none."""
        return "" if self._scale._place_of_mark() is None else fits_until(self._scale.largest_fit)

    def set_contexts(self, contexts: tuple[int, ...], largest_fit: int, n_ctx: int) -> None:
        """Offer `contexts`, mark `largest_fit`, and stand at the one nearest to `n_ctx` without telling it."""
        self._contexts = contexts
        self._scale.contexts, self._scale.largest_fit = contexts, largest_fit
        self.slider.blockSignals(True)
        self.slider.setRange(0, max(0, len(contexts) - 1))
        nearest = min(range(len(contexts)), key=lambda i: abs(contexts[i] - n_ctx), default=0)
        self.slider.setValue(nearest)
        self.slider.blockSignals(False)
        self.slider.setEnabled(len(contexts) > 1)
        self._name()
        self._scale.update()

    def _on_value(self, _value: int) -> None:
        self._name()
        self.changed.emit(self.n_ctx)

    def _name(self) -> None:
        fits = "fits" if self.n_ctx <= self._scale.largest_fit else "does not fit"
        self.slider.setAccessibleName(f"Context: {context(self.n_ctx)} tokens, {fits}")
