"""The options of a run: draft length, temperature, length, seed, each with its name above it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QIntValidator
from PySide6.QtWidgets import (
    QDoubleSpinBox,
    QHBoxLayout,
    QLineEdit,
    QSlider,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app import fonts, words
from app.draft_lengths import AUTO_WORDS, draft_length_words
from app.settings import RunSettings
from app.widgets.parts import label
from app.widgets.wheel import leave_wheel
from engine.speculation.settings import MAX_DRAFT_LENGTH

CONTROL_PX = 32
_MOST_TOKENS = 32_768
_MAX_SEED = 2**31 - 1
_AUTO_AT = -1


def field(name: str, control: QWidget, explanation: str) -> QVBoxLayout:
    """Return `control` with its name above it; both say what it means."""
    caption = label(name, tone="muted", font=fonts.small())
    caption.setBuddy(control)
    caption.setToolTip(explanation)
    control.setToolTip(explanation)
    control.setFixedHeight(CONTROL_PX)
    if not control.accessibleName():
        control.setAccessibleName(name)
    column = QVBoxLayout()
    column.setSpacing(4)
    column.addWidget(caption)
    column.addWidget(control)
    return column


class DraftLengthSlider(QWidget):
    """Auto at the left end, then 0 to 16, with the word or the number beside it. None is auto.

    Signals:
        changed: to another value.
    """

    changed = Signal()

    def __init__(self, value: int | None) -> None:
        super().__init__()
        self._slider = QSlider(Qt.Orientation.Horizontal)
        self._slider.setRange(_AUTO_AT, MAX_DRAFT_LENGTH)
        self._slider.setPageStep(1)
        self._slider.setMinimumWidth(72)
        self._slider.setToolTip(words.DRAFT_LENGTH)
        self._number = label(font=fonts.tabular(fonts.body()))
        self._number.setFixedWidth(self._number.fontMetrics().horizontalAdvance(AUTO_WORDS) + 4)
        self.set_value(value)
        self._show()
        self._slider.valueChanged.connect(self._on_value)
        self.setFocusProxy(self._slider)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self._slider)
        row.addWidget(self._number)

    @property
    def value(self) -> int | None:
        at = self._slider.value()
        return None if at == _AUTO_AT else at

    def set_value(self, value: int | None) -> None:
        self._slider.setValue(_AUTO_AT if value is None else value)

    def _on_value(self, _value: int) -> None:
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        said = draft_length_words(self.value)
        self._number.setText(said)
        # The slider's own value says −1 for auto.
        self._slider.setAccessibleName(f"Draft length: {said}")


def temperature_box(value: float) -> QDoubleSpinBox:
    box = QDoubleSpinBox()
    box.setRange(0.0, 2.0)
    box.setSingleStep(0.1)
    box.setDecimals(1)
    box.setValue(value)
    box.setFixedWidth(72)
    box.lineEdit().setTextMargins(6, 0, 6, 0)
    box.setAccessibleName("Temperature")
    return box


class RunOptions(QWidget):
    """Signals:
    changed(RunSettings): a value was changed.
    """

    changed = Signal(object)

    def __init__(self, settings: RunSettings) -> None:
        super().__init__()
        self.draft_length = DraftLengthSlider(settings.draft_length)
        self.temperature = temperature_box(settings.temperature)
        self.max_tokens = QSpinBox()
        self.max_tokens.setRange(1, _MOST_TOKENS)
        self.max_tokens.setSingleStep(32)
        self.max_tokens.setValue(settings.max_tokens)
        self.max_tokens.setFixedWidth(80)
        self.max_tokens.lineEdit().setTextMargins(6, 0, 6, 0)
        self.seed = QLineEdit("" if settings.seed is None else str(settings.seed))
        self.seed.setPlaceholderText("random")
        self.seed.setValidator(QIntValidator(0, _MAX_SEED, self.seed))
        self.seed.setFixedWidth(88)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(12)
        row.addLayout(field("Draft length", self.draft_length, words.DRAFT_LENGTH))
        row.addLayout(field("Temperature", self.temperature, words.TEMPERATURE))
        row.addLayout(field("Most tokens", self.max_tokens, words.MAX_TOKENS))
        row.addLayout(field("Seed", self.seed, words.SEED))
        for box in (self.temperature, self.max_tokens):
            leave_wheel(box)
        self.draft_length.changed.connect(self._emit)
        self.temperature.valueChanged.connect(self._emit)
        self.max_tokens.valueChanged.connect(self._emit)
        self.seed.textChanged.connect(self._emit)

    @property
    def settings(self) -> RunSettings:
        seed = self.seed.text()
        return RunSettings(
            draft_length=self.draft_length.value,
            temperature=round(self.temperature.value(), 2),
            max_tokens=self.max_tokens.value(),
            seed=int(seed) if seed.isdigit() else None,
        )

    def _emit(self, _value: object = None) -> None:
        self.changed.emit(self.settings)
