"""Acceptance by position: how often the first, second, third … drafted token was right."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import fonts
from app.format import share
from app.palette import current_colours

_WIDTH_PX = 60
"""Always the same, so that neither pane's width depends on what was drafted."""
_MOST_BAR_PX = 12.0
_GAP_SHARE = 0.25
_BARS_PX = 32
_LABEL_ROOM_PX = 8.0
_MOST_LABELLED = 4
EXPLANATION = (
    "Of all first guesses, second guesses and so on, the share that the model agreed with. "
    "It mostly falls from left to right, because a guess counts only if all before it were right."
)


class PositionChart(QWidget):
    """A bar for each position of a draft, filled as far as its tokens were accepted."""

    def __init__(self) -> None:
        super().__init__()
        self._shares: tuple[float, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setToolTip(EXPLANATION)
        self.set_counts((), ())

    @property
    def shares(self) -> tuple[float, ...]:
        return self._shares

    def set_counts(self, accepted: tuple[int, ...], drafted: tuple[int, ...]) -> None:
        """Show accepted/drafted for each position; positions that were never drafted are left out."""
        shares = tuple(a / d for a, d in zip(accepted, drafted, strict=False) if d > 0)
        if shares == self._shares and self.accessibleName():
            return
        self._shares = shares
        words = ", ".join(f"position {i + 1} {share(value)}" for i, value in enumerate(shares))
        self.setAccessibleName(f"Acceptance by position: {words or 'nothing drafted yet'}")
        self.setToolTip(f"{EXPLANATION}\n\n{words}" if words else EXPLANATION)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(_WIDTH_PX, _BARS_PX + 2 + self.fontMetrics().height())

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, _event: QPaintEvent) -> None:
        colours = current_colours()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(fonts.tabular(fonts.small()))
        n_bars = max(3, len(self._shares))
        step = min(_MOST_BAR_PX / (1 - _GAP_SHARE), _WIDTH_PX / n_bars)
        width = step * (1 - _GAP_SHARE)
        for i in range(n_bars):
            x = i * step
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colours.colour("card"))
            painter.drawRoundedRect(QRectF(x, 0, width, _BARS_PX), 2, 2)
            if i >= len(self._shares):
                continue
            filled = max(2.0, _BARS_PX * self._shares[i])
            painter.setBrush(colours.colour("accent"))
            painter.drawRoundedRect(QRectF(x, _BARS_PX - filled, width, filled), 2, 2)
            if len(self._shares) <= _MOST_LABELLED or i in (0, len(self._shares) - 1):
                painter.setPen(colours.colour("muted"))
                # Two digits are wider than a bar: at the edges they move inwards.
                room = width + 2 * _LABEL_ROOM_PX
                left = min(max(x - _LABEL_ROOM_PX, 4.0 - room / 2), self.width() - room)
                box = QRectF(left, _BARS_PX + 2, room, self.height() - _BARS_PX - 2)
                painter.drawText(box, Qt.AlignmentFlag.AlignCenter, str(i + 1))
