"""Measuring this computer: the button, how far it is, Cancel."""

from __future__ import annotations

from PySide6.QtCore import QElapsedTimer
from PySide6.QtWidgets import QBoxLayout, QFrame, QVBoxLayout

from app import fonts
from app.format import share
from app.models.state import ModelsState
from app.widgets.parts import button, label
from app.widgets.progress_line import ProgressLine

_NEVER = "Speeds are not known until this computer is measured. It takes some seconds."
_BUSY = " while the computer was busy; measure again when it is quiet"
_HELD = "The Tune page is measuring: both at once would falsify both."
_JOINED_SLASH = "\u2060/\u2060"
"""No line breaks at it."""
_VERB, _AGAIN = "Measure this computer", "Measure again"


class MeasureStrip(QFrame):
    """At the foot of the list."""

    def __init__(self, state: ModelsState) -> None:
        super().__init__()
        self._state = state
        self._since = QElapsedTimer()
        self._words = label(tone="muted", font=fonts.small(), wraps=True)
        self._line = ProgressLine("Measuring this computer", "accent", "done", track="line")
        self.go = button(_VERB)
        self.go.clicked.connect(self._on_go)
        self._is_held = False
        row = self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        row.setSpacing(8)
        row.addWidget(self._words, 1)
        row.addWidget(self.go)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self._line)
        column.addLayout(row)
        state.measuring_changed.connect(self._show)
        state.offers_changed.connect(self._show)
        self._show()

    @property
    def words(self) -> str:
        return self._words.text()

    def hold(self, is_held: bool) -> None:
        """Measure nothing while the Tune page does: each would falsify the other's figures."""
        self._is_held = is_held
        self._show()

    def _on_go(self) -> None:
        if self._state.measuring is None:
            self._state.measure()
        else:
            self._state.cancel_measuring()

    def _show(self) -> None:
        measuring, devices = self._state.measuring, self._state.speed.devices
        self._line.setVisible(measuring is not None)
        self.go.setEnabled(measuring is not None or not self._is_held)
        self.go.setToolTip(_HELD if measuring is None and self._is_held else "")
        if measuring is None:
            self._since.invalidate()
        elif not self._since.isValid():
            self._since.start()
        if measuring is not None:
            what = measuring.what or "Getting ready"
            elapsed_s = self._since.elapsed() / 1000
            since = f" · {elapsed_s:.0f} s" if elapsed_s >= 1 else ""
            self._words.setText(f"{what} · {share(measuring.fraction)}{since}")
            self._line.set_progress(measuring.fraction)
            self.go.set_words("Cancel")
            return
        fastest = max(devices, key=lambda one: one.bandwidth_bytes_per_s, default=None)
        if fastest is None:
            self._words.setText(_NEVER)
        else:
            self._words.setText(
                f"{fastest.device} reads {fastest.bandwidth_bytes_per_s / 1e9:.0f} GB{_JOINED_SLASH}s"
                + (f", measured{_BUSY}" if self._state.speed.was_busy else "")
            )
        self.go.set_words(_AGAIN if devices else _VERB)
        self._lead(is_first=not devices)

    def _lead(self, *, is_first: bool) -> None:
        """Be a real button until it was pressed once, a quiet one after that."""
        role = "" if is_first else "quiet"
        down, across = QBoxLayout.Direction.TopToBottom, QBoxLayout.Direction.LeftToRight
        self._row.setDirection(down if is_first else across)
        if self.go.property("role") != role:
            self.go.setProperty("role", role)
            self.go.style().unpolish(self.go)
            self.go.style().polish(self.go)
