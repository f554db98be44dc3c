"""All downloads in one place: a panel beside the rail."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from app import fonts
from app.models.state import ModelsState
from app.widgets.models.download_row import DownloadRow
from app.widgets.parts import label

_PANEL_PX = 440
_SIDES_PX = 26
_AROUND_PX = 44
_MOST_OF_SCREEN = 0.7
_SETTLE_MS = 3000
"""What waits from the last time is told within this; nothing says that nothing does."""
_LOOKING = "Looking for downloads that have not ended yet…"
_NOTHING = (
    "Nothing is on its way. What you download on the Models page shows here. What was under way when Slipstream "
    "ended goes on by itself the next time; what you paused stays paused."
)


class DownloadsPanel(QFrame):
    """A row for each download, newest below; opens beside the ring and goes when something else is clicked."""

    def __init__(self, state: ModelsState, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self._state = state
        self.rows: dict[str, DownloadRow] = {}
        self.setProperty("role", "popover")
        self.setAccessibleName("Downloads")
        self._nothing = label(_LOOKING, tone="muted", wraps=True)
        QTimer.singleShot(_SETTLE_MS, self, lambda: self._say_nothing())
        self._list = QVBoxLayout()
        self._list.setSpacing(16)
        inner = self._inner = QWidget()
        inner.setProperty("role", "page")
        column = self._rows_column = QVBoxLayout(inner)
        column.setContentsMargins(0, 0, 8, 0)
        column.addLayout(self._list)
        column.addStretch()
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(inner)
        body = QVBoxLayout(self)
        body.setContentsMargins(16, 12, 8, 12)
        body.setSpacing(8)
        self._head = label("Downloads", font=fonts.title())
        body.addWidget(self._head)
        body.addWidget(self._nothing)
        body.addWidget(self._scroll, 1)
        self.setFixedWidth(_PANEL_PX)
        inner.installEventFilter(self)
        state.downloads_changed.connect(self._on_changed)
        self._fill()

    def open_beside(self, anchor: QWidget) -> None:
        """Open to the right of `anchor`, grown upwards from its foot."""
        self._fit_height()
        corner = anchor.mapToGlobal(QPoint(anchor.width() + 8, anchor.height()))
        self.move(corner.x(), max(8, corner.y() - self.height()))
        self.show()

    def _say_nothing(self) -> None:
        self._nothing.setText(_NOTHING)
        if self.isVisible():
            self._fit_height()

    def _fill(self) -> None:
        for download_id in self._state.downloads:
            self._on_changed(download_id)
        self._show_what_there_is()

    def _on_changed(self, download_id: str) -> None:
        progress = self._state.downloads.get(download_id)
        row = self.rows.get(download_id)
        if progress is None:
            if row is not None:
                del self.rows[download_id]
                self._list.removeWidget(row)
                row.hide()
                row.deleteLater()
                self._show_what_there_is()
            return
        if row is None:
            row = self.rows[download_id] = DownloadRow(self._state)
            self._list.addWidget(row)
            self._show_what_there_is()
        row.show_progress(progress)

    def _show_what_there_is(self) -> None:
        self._nothing.setVisible(not self.rows)
        self._scroll.setVisible(bool(self.rows))
        if self.isVisible():
            self._fit_height()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Grow and shrink with the list: files may be shown, and words may take another line."""
        if watched is self._inner and event.type() == QEvent.Type.LayoutRequest:
            QTimer.singleShot(0, self, self._fit_height)
        return super().eventFilter(watched, event)

    def _fit_height(self) -> None:
        """Be as high as the list needs, and no higher than the screen allows; the foot stays where it is."""
        foot = self.y() + self.height()
        width = _PANEL_PX - _SIDES_PX
        column = self._rows_column
        column.activate()
        needed = column.heightForWidth(width) if column.hasHeightForWidth() else column.sizeHint().height()
        if not self.rows:
            needed = self._nothing.heightForWidth(width)
        room = int(self.screen().availableGeometry().height() * _MOST_OF_SCREEN)
        height = min(room, needed + self._head.sizeHint().height() + _AROUND_PX)
        if height != self.height():
            self.setFixedHeight(height)
            if self.isVisible():
                self.move(self.x(), max(8, foot - height))
