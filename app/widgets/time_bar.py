"""Where the time of an answer went: drafting, checking the drafts, the rest."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from app import fonts
from app.format import NOTHING_YET, duration, share
from app.palette import current_colours
from app.widgets.parts import label

EXPLANATION = (
    "Drafting is the time that guessing took, checking that of the model's own passes over the guesses. "
    "Guessing pays as long as it costs less than the passes that it saves."
)


class _Bar(QWidget):
    """Two segments on a track, with a gap between them so that they can be told apart without colour."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = (0.0, 0.0)
        self.setFixedHeight(10)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def paintEvent(self, _event: QPaintEvent) -> None:
        colours = current_colours()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colours.colour("card"))
        painter.drawRoundedRect(QRectF(self.rect()), 3, 3)
        x = 0.0
        for part, colour in zip(self.parts, ("accent", "control_line"), strict=True):
            width = self.width() * part
            if width >= 1:
                painter.setBrush(colours.colour(colour))
                painter.drawRoundedRect(QRectF(x, 0, max(2.0, width - 2), self.height()), 3, 3)
            x += width


class TimeBar(QWidget):
    """The bar with its words below."""

    def __init__(self) -> None:
        super().__init__()
        self._bar = _Bar()
        self._words = label(font=fonts.tabular(fonts.small()), tone="muted")
        self._words.setMinimumWidth(1)
        self.setToolTip(EXPLANATION)
        self.setMinimumWidth(132)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addStretch()
        layout.addWidget(self._bar)
        layout.addWidget(self._words)
        self.set_times(0.0, 0.0, 0.0)

    @property
    def words(self) -> str:
        return self._words.text()

    def set_times(self, draft_s: float, verify_s: float, decode_s: float) -> None:
        """Show `draft_s` and `verify_s` as parts of `decode_s`; whatever is left is neither."""
        whole = max(decode_s, draft_s + verify_s)
        draft, verify = (draft_s / whole, verify_s / whole) if whole > 0 else (0.0, 0.0)
        self._bar.parts = (draft, verify)
        self._bar.update()
        if whole <= 0:
            self._words.setText(f"draft {NOTHING_YET} · check {NOTHING_YET}")
        else:
            self._words.setText(f"draft {share(draft)} · check {share(verify)}")
        self.setToolTip(f"{EXPLANATION}\n\nDrafting {duration(draft_s)}, checking {duration(verify_s)}.")
        self.setAccessibleName(f"Time: {self._words.text()}")
