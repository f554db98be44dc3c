"""Paints a row of the list: name and fit above, what it is good at, then size, speed and drafter."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app import fonts
from app.models.rows import Row, RowKind
from app.models.words import FIT_WORDS
from app.palette import Colours, current_colours
from engine.recommend.advice import Fit

_PAD_X, _PAD_Y, _GAP, _INDENT = 12, 8, 3, 4
_DOT_PX = 8
_FIT_COLOURS = {
    Fit.FITS: "accent",
    Fit.TIGHT: "warning",
    Fit.PARTLY_ON_CPU: "warning",
    Fit.DOES_NOT_FIT: "muted",
    Fit.UNKNOWN: "muted",
}
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class RowDelegate(QStyledItemDelegate):
    """Fonts are made once; a row's height depends on its kind alone."""

    def __init__(self, parent: QListView) -> None:
        super().__init__(parent)
        self._view = parent
        self._strong, self._small = fonts.strong(), fonts.tabular(fonts.small())
        self._name_px = QFontMetrics(self._strong).height()
        self._small_px = QFontMetrics(self._small).height()

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        row = index.data(int(Qt.ItemDataRole.UserRole))
        if row.kind is RowKind.HEADER:
            return QSize(0, self._small_px + 2 * _PAD_Y + (4 if index.row() else 0))
        if row.kind is RowKind.NOTE:
            room = QRect(0, 0, max(120, self._view.viewport().width() - 2 * _PAD_X - 2 * _INDENT), 1000)
            text = QFontMetrics(self._small).boundingRect(room, Qt.TextFlag.TextWordWrap, row.title)
            return QSize(0, text.height() + 2 * _PAD_Y)
        return QSize(0, self._name_px + 2 * self._small_px + 2 * _GAP + 2 * _PAD_Y)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        row = index.data(int(Qt.ItemDataRole.UserRole))
        colours = current_colours()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect = option.rect.adjusted(_INDENT, 0, -_INDENT, 0)
        if row.can_be_chosen:
            self._paint_ground(painter, option, rect, colours)
        room = rect.adjusted(_PAD_X, _PAD_Y, -_PAD_X, -_PAD_Y)
        if row.kind is RowKind.HEADER:
            painter.setFont(self._small)
            painter.setPen(colours.colour("muted"))
            bottom = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom
            painter.drawText(room.adjusted(0, 0, 0, 2), bottom, row.title)
        elif row.kind is RowKind.NOTE:
            painter.setFont(self._small)
            painter.setPen(colours.colour("accent" if row.key else "muted"))
            painter.drawText(room, int(_LEFT | Qt.TextFlag.TextWordWrap), row.title)
        else:
            self._paint_model(painter, room, row, colours)
        painter.restore()

    def _paint_ground(
        self, painter: QPainter, option: QStyleOptionViewItem, rect: QRect, colours: Colours
    ) -> None:
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        if not (chosen or hovered):
            return
        painter.setBrush(colours.colour("accepted" if chosen else "hover"))
        focused = chosen and self._view.hasFocus()
        painter.setPen(QPen(colours.colour("accent"), 1) if focused else Qt.PenStyle.NoPen)
        painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 1.5, -0.5, -1.5), 8, 8)

    def _paint_model(self, painter: QPainter, room: QRect, row: Row, colours: Colours) -> None:
        first = QRect(room.left(), room.top(), room.width(), self._name_px)
        second = first.translated(0, self._name_px + _GAP)
        second.setHeight(self._small_px)
        third = second.translated(0, self._small_px + _GAP)
        fit_px = self._paint_fit(painter, first, row.fit, colours)
        left = first.adjusted(0, 0, -fit_px, 0)
        if row.rank:
            left.setLeft(left.left() + self._paint_rank(painter, left, row.rank, colours))
        self._text(painter, left, row.title, self._strong, colours, "text")
        self._text(painter, second, row.second, self._small, colours, "text")
        badge_px = self._paint_drafter(painter, third, row.drafter, colours)
        third.adjust(0, 0, -badge_px, 0)
        said = row.third
        if QFontMetrics(self._small).horizontalAdvance(said) > third.width():
            said = said.removesuffix(" here")
        self._text(painter, third, said, self._small, colours, "muted")

    def _text(
        self, painter: QPainter, room: QRect, text: str, font: QFont, colours: Colours, colour: str
    ) -> None:
        painter.setFont(font)
        painter.setPen(colours.colour(colour))
        elided = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, int(_LEFT), elided)

    def _paint_fit(self, painter: QPainter, room: QRect, fit: Fit, colours: Colours) -> int:
        """Paint the fit at the right end, as words and a mark that is full, half or empty; return its width."""
        said = FIT_WORDS[fit]
        if not said:
            return 0
        tint = colours.colour(_FIT_COLOURS[fit])
        painter.setFont(self._small)
        painter.setPen(tint)
        painter.drawText(room, int(_RIGHT), said)
        width = QFontMetrics(self._small).horizontalAdvance(said) + 6
        dot = QRectF(
            room.right() - width - _DOT_PX + 1, room.center().y() - _DOT_PX / 2 + 1, _DOT_PX, _DOT_PX
        )
        painter.setPen(QPen(tint, 1.4))
        painter.setBrush(tint if fit is Fit.FITS else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(dot)
        if fit in (Fit.TIGHT, Fit.PARTLY_ON_CPU):
            painter.setBrush(tint)
            painter.drawPie(dot, 90 * 16, 180 * 16)
        return width + _DOT_PX + 10

    def _paint_rank(self, painter: QPainter, room: QRect, rank: int, colours: Colours) -> int:
        side = self._name_px - 1
        disc = QRectF(room.left(), room.top() + 0.5, side, side)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colours.colour("accent"))
        painter.drawEllipse(disc)
        font = QFont(self._small)
        font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(font)
        painter.setPen(colours.colour("on_accent"))
        painter.drawText(disc, int(Qt.AlignmentFlag.AlignCenter), str(rank))
        return side + 6

    def _paint_drafter(self, painter: QPainter, room: QRect, badge: str, colours: Colours) -> int:
        if not badge:
            return 0
        width = QFontMetrics(self._small).horizontalAdvance(badge) + 14
        pill = QRectF(room.right() - width + 1, room.top() - 0.5, width, room.height() + 1)
        painter.setPen(QPen(colours.colour("control_line"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(pill, pill.height() / 2, pill.height() / 2)
        painter.setFont(self._small)
        painter.setPen(colours.colour("muted"))
        painter.drawText(pill, int(Qt.AlignmentFlag.AlignCenter), badge)
        return width + 8
