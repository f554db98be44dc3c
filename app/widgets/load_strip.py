"""How far loading is, with Cancel: there only while a bundle loads for more than a moment."""

from __future__ import annotations

from PySide6.QtCore import QElapsedTimer, QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout

from app.format import share
from app.session import EngineSession, ModelPhase, ModelState
from app.widgets.parts import button, label
from app.widgets.progress_line import ProgressLine

_MOMENT_MS = 300


class LoadStrip(QFrame):
    """One line: what is loading, how far, how long, Cancel."""

    def __init__(self, session: EngineSession) -> None:
        super().__init__()
        self._session = session
        self._since = QElapsedTimer()
        self._words = label(tone="muted")
        self._line = ProgressLine("Loading", "accent", "loaded")
        self.cancel = button("Cancel", tip="Stop loading")
        self.cancel.clicked.connect(session.cancel_loading)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(12)
        row.addWidget(self._words)
        row.addWidget(self._line, 1)
        row.addWidget(self.cancel)
        self._appear = QTimer(self)
        self._appear.setSingleShot(True)
        self._appear.setInterval(_MOMENT_MS)
        self._appear.timeout.connect(self.show)
        self._tick = QTimer(self)
        self._tick.setInterval(500)
        self._tick.timeout.connect(lambda: self._tell(session.state))
        session.state_changed.connect(self._on_state)
        self.hide()

    @property
    def words(self) -> str:
        return self._words.text()

    def _on_state(self, state: ModelState) -> None:
        if state.phase is not ModelPhase.LOADING:
            self._appear.stop()
            self._tick.stop()
            self.hide()
            return
        if not self._tick.isActive():
            self._since.start()
            self._appear.start()
            self._tick.start()
        self._tell(state)

    def _tell(self, state: ModelState) -> None:
        name = state.bundle.name if state.bundle else "the model"
        what = f"Loading {name}" if state.what == "target" else "Loading the drafter"
        elapsed = self._since.elapsed() / 1000
        since = f" · {elapsed:.0f} s" if elapsed >= 1 else ""
        self.cancel.setVisible(self._session.can_cancel)
        # The weights are read, and llama.cpp makes its caches and buffers, of which it does not say how far it is.
        how_far = "preparing its memory…" if state.fraction >= 1 else share(state.fraction)
        if self._session.running and not state.fraction:
            how_far = f"waits until the running {self._session.running} has ended"
        self._words.setText(f"{what} · {how_far}{since}")
        self._line.set_progress(state.fraction)
