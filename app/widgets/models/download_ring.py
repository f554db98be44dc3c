"""How far downloads are, on every page: a ring on the rail, and a thin line above the bottom bar."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, QTimer
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout

from app import fonts
from app.announce import announce
from app.models.downloads import ended_words, overall, ring_words, tray_words, waiting_words
from app.models.state import ModelsState
from app.palette import Colours, current_colours
from app.widgets.elided import ElidedLabel
from app.widgets.parts import IconButton, button, rule
from app.widgets.progress_line import ProgressLine
from engine.download.progress import DownloadState

_NEWS_MS = 10_000
_COUNT_PX = 17
_LEAST_MS = 250
"""Words that change more often than four times a second cannot be read."""


class DownloadRing(IconButton):
    """The downloads' place on the rail: an arrow, and around it how much of all that is on its way has come."""

    def __init__(self, state: ModelsState) -> None:
        super().__init__("download", "Downloads: none", size_px=40)
        self._state = state
        self._fraction = 0.0
        self._is_running = False
        self._n_waiting = 0
        state.downloads_changed.connect(lambda _: self._show())
        self._show()

    @property
    def fraction(self) -> float:
        return self._fraction

    def _show(self) -> None:
        running, waiting = self._state.running, self._state.waiting
        self._fraction, self._is_running = overall(running or waiting), bool(running)
        self._n_waiting = len(waiting)
        name = ring_words(running, waiting, len(self._state.downloads))
        if name != self.accessibleName():
            self.set_name(name)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._is_running and not self._n_waiting:
            return
        colours = current_colours()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ring = QRectF(self.rect()).adjusted(4.5, 4.5, -4.5, -4.5)
        painter.setPen(QPen(colours.colour("line"), 2.5))
        painter.drawEllipse(ring)
        pen = QPen(colours.colour("accent" if self._is_running else "muted"), 2.5)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        painter.drawArc(ring, 90 * 16, -round(360 * 16 * max(0.01, self._fraction)))
        if self._n_waiting:
            self._paint_count(painter, str(self._n_waiting), colours)

    def _paint_count(self, painter: QPainter, text: str, colours: Colours) -> None:
        """Paint how many wait into the corner."""
        disc = QRectF(self.width() - _COUNT_PX - 2, 2, _COUNT_PX, _COUNT_PX)
        painter.setPen(QPen(colours.colour("control_line"), 1))
        painter.setBrush(colours.colour("card"))
        painter.drawEllipse(disc)
        painter.setFont(fonts.tabular(fonts.small()))
        painter.setPen(colours.colour("text"))
        painter.drawText(disc, int(Qt.AlignmentFlag.AlignCenter), text)


class DownloadTray(QFrame):
    """One thin line above the bottom bar while something is on its way or waits to go on, whatever page one is on.

    It says for a while what has arrived, and until it is looked at what could not be had.
    """

    def __init__(self, state: ModelsState) -> None:
        super().__init__()
        self._state = state
        self.setProperty("role", "tray")
        self._words = ElidedLabel(font=fonts.tabular(fonts.small()))
        self._line = ProgressLine("Downloads", "accent", "there", track="line")
        self._line.setFixedWidth(160)
        self.open = button("Show", role="status", tip="Show all downloads")
        self.open.setAccessibleName("Show all downloads")
        self.resume = button("Resume", role="status", tip="Go on with what is paused or has failed")
        self.resume.clicked.connect(state.resume_all)
        row = QHBoxLayout()
        row.setContentsMargins(16, 1, 8, 1)
        row.setSpacing(12)
        row.addWidget(self._line)
        row.addWidget(self._words, 1)
        row.addWidget(self.resume)
        row.addWidget(self.open)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(rule())
        column.addLayout(row)
        self._active: set[str] = set()
        self._news, self._news_about = "", ""
        self._fade = QTimer(self)
        self._fade.setSingleShot(True)
        self._fade.setInterval(_NEWS_MS)
        self._fade.timeout.connect(self._forget_news)
        self.open.clicked.connect(self._forget_news)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(_LEAST_MS)
        self._later.timeout.connect(self._show)
        state.downloads_changed.connect(self._on_changed)
        self._show()

    @property
    def words(self) -> str:
        return self._words.words

    def _on_changed(self, download_id: str) -> None:
        self._take_news(download_id)
        if len(self._state.running) < 2 or self.isHidden():
            self._later.stop()
            self._show()
        elif not self._later.isActive():
            self._later.start()

    def _take_news(self, download_id: str) -> None:
        """Say once what has come to its end; what goes on again is news no more."""
        progress = self._state.downloads.get(download_id)
        was_active = download_id in self._active
        if progress is not None and progress.state.is_active:
            self._active.add(download_id)
        else:
            self._active.discard(download_id)
        if self._news_about == download_id:
            self._news, self._news_about = "", ""
        if progress is not None and was_active and (said := ended_words(progress)):
            self._news, self._news_about = said, download_id
            announce(self, said)
            if progress.state is DownloadState.DONE:
                self._fade.start()
            else:
                self._fade.stop()

    def _forget_news(self) -> None:
        self._news, self._news_about = "", ""
        self._show()

    def _show(self) -> None:
        running, waiting = self._state.running, self._state.waiting
        self.setVisible(bool(running or waiting or self._news))
        self._line.setVisible(bool(running))
        self.resume.setVisible(bool(waiting) and not running and not self._news)
        if not running:
            self._words.set_words(self._news or waiting_words(waiting))
        else:
            self._words.set_words(tray_words(running))
            self._words.setToolTip("\n".join(one.bundle.name for one in running))
            self._line.set_progress(overall(running))
