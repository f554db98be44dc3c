"""Small parts that every page uses: labels by tone, icon buttons, pick buttons, rules and popovers."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QPoint, QSize, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QLayout,
    QMenu,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app import fonts
from app.icons import icon
from app.palette import current_colours

ICON_PX = 18
_CHEVRON_PX = 14


def label(text: str = "", *, tone: str = "", font: QFont | None = None, wraps: bool = False) -> QLabel:
    """Return a plain-text label; `tone` is "", "muted", "accent", "warning" or "error"."""
    result = QLabel(text)
    result.setTextFormat(Qt.TextFormat.PlainText)
    result.setWordWrap(wraps)
    if tone:
        result.setProperty("tone", tone)
    if font is not None:
        result.setFont(font)
    return result


def set_tone(widget: QWidget, tone: str) -> None:
    """Change the tone of a label or a notice; the style rules follow."""
    if widget.property("tone") != tone:
        widget.setProperty("tone", tone)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def widgets_of(layout: QLayout) -> tuple[QWidget, ...]:
    """Return the widgets that `layout` holds itself, in order."""
    items = (layout.itemAt(i) for i in range(layout.count()))
    widgets = (item.widget() for item in items if item is not None)
    return tuple(widget for widget in widgets if widget is not None)


def rule() -> QFrame:
    """Return a thin horizontal line."""
    frame = QFrame()
    frame.setProperty("role", "rule")
    return frame


def button(text: str, *, role: str = "", icon_name: str = "", tip: str = "") -> TintedButton:
    """Return a push button; `role` is "", "primary", "quiet", "chip" or "status"."""
    return TintedButton(text, role=role, icon_name=icon_name, tip=tip)


class TintedButton(QPushButton):
    """A push button whose icon takes the colour of its text."""

    def __init__(self, text: str, *, role: str = "", icon_name: str = "", tip: str = "") -> None:
        super().__init__()
        self._icon_name = icon_name
        self._tinted = ("", "")
        self.set_words(text)
        self.setProperty("role", role)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setIconSize(QSize(16, 16))
        self.setAutoDefault(False)
        if tip:
            self.setToolTip(tip)
        self._tint()

    def set_words(self, text: str) -> None:
        """Show `text`, a little away from the icon."""
        self.setText(f" {text}" if self._icon_name else text)
        self.setAccessibleName(text)

    def set_icon_name(self, name: str) -> None:
        self._icon_name = name
        self._tint()

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()
        super().changeEvent(event)

    def _tint(self) -> None:
        if not self._icon_name:
            return
        colours = current_colours()
        role = self.property("role")
        tint = colours.on_accent if role == "primary" else colours.text if role == "" else colours.muted
        if self._tinted != (self._icon_name, tint):
            self._tinted = (self._icon_name, tint)
            self.setIcon(icon(self._icon_name, tint, colours.disabled))


class IconButton(QToolButton):
    """A button that is only an icon: its name is its tooltip and what a screen reader says."""

    def __init__(self, icon_name: str, name: str, *, size_px: int = 28, shortcut: str = "") -> None:
        super().__init__()
        self._icon_name = icon_name
        self._tinted = ("", "")
        self.setFixedSize(size_px, size_px)
        self.setIconSize(QSize(ICON_PX, ICON_PX))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.set_name(name, shortcut)
        self._tint()

    def set_name(self, name: str, shortcut: str = "") -> None:
        self.setAccessibleName(name)
        self.setToolTip(f"{name} ({shortcut})" if shortcut else name)

    def set_icon_name(self, name: str) -> None:
        self._icon_name = name
        self._tint()

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()
        super().changeEvent(event)

    def _tint(self) -> None:
        colours = current_colours()
        if self._tinted != (self._icon_name, colours.muted):
            self._tinted = (self._icon_name, colours.muted)
            self.setIcon(icon(self._icon_name, colours.muted, colours.disabled))


class PickButton(QPushButton):
    """Shows what is chosen and opens a menu of what may be chosen; a long text is cut in its middle."""

    def __init__(self, name: str, fill: Callable[[QMenu], None]) -> None:
        super().__init__()
        self._text = ""
        self._name = name
        self._fill = fill
        self.setProperty("role", "pick")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAutoDefault(False)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(120)
        self.clicked.connect(self._open)
        self.set_chosen("")

    def set_chosen(self, text: str, tip: str = "") -> None:
        self._text = text
        self.setAccessibleName(f"{self._name}: {text}")
        self.setToolTip(tip or text)
        self._elide()

    @property
    def chosen(self) -> str:
        return self._text

    def sizeHint(self) -> QSize:
        return QSize(220, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(self.minimumWidth(), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        colours = current_colours()
        tint = colours.muted if self.isEnabled() else colours.disabled
        pixmap = icon("chevron-down", tint).pixmap(QSize(_CHEVRON_PX, _CHEVRON_PX), self.devicePixelRatioF())
        painter = QPainter(self)
        painter.drawPixmap(self.width() - _CHEVRON_PX - 10, (self.height() - _CHEVRON_PX) // 2, pixmap)

    def _elide(self) -> None:
        width = max(40, self.width() - 2 * 12 - _CHEVRON_PX - 8)
        self.setText(self.fontMetrics().elidedText(self._text, Qt.TextElideMode.ElideMiddle, width))

    def _open(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setMinimumWidth(self.width())
        self._fill(menu)
        menu.popup(self.mapToGlobal(QPoint(0, self.height() + 4)))


class Popover(QFrame):
    """A small panel over the page that goes away by itself when something else is clicked."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self.setProperty("role", "popover")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(16, 12, 16, 12)
        self.body.setSpacing(8)

    @staticmethod
    def show_text(anchor: QWidget, title: str, text: str) -> Popover:
        """Open one above `anchor` with a title and some lines."""
        popover = Popover(anchor)
        popover.body.addWidget(label(title, font=fonts.strong()))
        lines = label(text, wraps=True)
        lines.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        lines.setMinimumWidth(320)
        popover.body.addWidget(lines)
        popover.open_above(anchor)
        return popover

    def open_above(self, anchor: QWidget) -> None:
        """Open above `anchor`, or below it where there is no room."""
        self.adjustSize()
        corner = anchor.mapToGlobal(QPoint(0, 0))
        screen = anchor.screen().availableGeometry()
        x = min(max(corner.x(), screen.left() + 8), screen.right() - self.width() - 8)
        above, below = corner.y() - self.height() - 4, corner.y() + anchor.height() + 4
        self.move(x, above if above >= screen.top() + 8 else below)
        self.show()
