"""Says that the models' process does not answer, for as long as it does not, on whatever page one is."""

from __future__ import annotations

import time

from PySide6.QtCore import QTimer

from app.session import EngineSession
from app.trouble import Trouble
from app.widgets.notice import Notice, Remedy


class SilenceNotice(Notice):
    """Counts the seconds of silence and offers to end the process; goes when it answers or is gone."""

    def __init__(self, session: EngineSession) -> None:
        super().__init__()
        self._session = session
        self._since_s = 0.0
        # Nothing else would offer the way out again.
        self._close.hide()
        self._tick = QTimer(self)
        self._tick.setInterval(1000)
        self._tick.timeout.connect(self._count)
        session.silence_changed.connect(self._on_silence)

    def _on_silence(self, silent_s: float) -> None:
        if not silent_s:
            self._tick.stop()
            self.hide()
            return
        self._since_s = time.monotonic() - silent_s
        remedy = Remedy("End and restart", self._session.service.end_worker)
        what_to_do = "You can wait, or end it and start it again. The text so far stays."
        self.tell(Trouble(self._words(), what_to_do), remedy, tone="warning")
        self._tick.start()

    def _words(self) -> str:
        silent_s = time.monotonic() - self._since_s
        return f"The model's process has not answered for {silent_s:.0f} seconds."

    def _count(self) -> None:
        self._sentence.setText(self._words())
