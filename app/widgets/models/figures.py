"""How fast a model may be here, with and without speculation, and whether it fits: three figures in a row."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.format import NOTHING_YET, speed_range
from app.models import words
from app.widgets.figure import Figure
from app.widgets.flow import FlowLayout
from engine.models.bundle import DrafterKind
from engine.recommend.advice import Advice, ComputerSpeed, SpeedRange

_WIDEST_SPEED = "≈ 100–100 tok/s"


class SpeedFigures(QWidget):
    """Hidden where nothing is known."""

    def __init__(self) -> None:
        super().__init__()
        self.fit = Figure("Memory", "", widest="Does not fit")
        self.plain = Figure("Without speculation", "", widest=_WIDEST_SPEED)
        self.speculative = Figure("With speculation", "", widest=_WIDEST_SPEED)
        row = FlowLayout(self, gap_px=24, line_px=8)
        for one in (self.fit, self.plain, self.speculative):
            row.addWidget(one)

    def show_advice(self, advice: Advice | None, computer: ComputerSpeed, kind: DrafterKind) -> None:
        self.setVisible(advice is not None)
        if advice is None:
            return
        self.fit.set_value(words.FIT_WORDS[advice.fit] or NOTHING_YET)
        self.plain.set_value(_speed(advice.plain))
        self.speculative.set_value(_speed(advice.speculative))
        basis = words.speed_basis(advice, computer, kind)
        for figure, tip in ((self.fit, advice.fit_sentence), (self.plain, basis), (self.speculative, basis)):
            figure.setToolTip(tip)
            figure.setAccessibleDescription(tip)


def _speed(speed: SpeedRange | None) -> str:
    if speed is None:
        return NOTHING_YET
    about = "" if speed.is_measured else "≈ "
    return f"{about}{speed_range(speed.low_tokens_per_s, speed.high_tokens_per_s)} tok/s"
