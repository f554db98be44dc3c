"""What is to be measured: kinds of text, draft lengths, how many prompts of each kind, how often."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QSpinBox, QVBoxLayout, QWidget

from app import fonts
from app.format import count
from app.tune import words
from app.tune.plan import MODES, MOST_REPEATS, MOST_TASKS, TuneSettings, kinds_in, make_plan
from app.tune.summary import kind_words, mode_words
from app.widgets.flow import FlowLayout
from app.widgets.parts import TintedButton, button, label
from app.widgets.run_options import temperature_box
from app.widgets.wheel import leave_wheel
from engine.bench.plan import BenchPlan, Task

_CAPTION_PX = 104
_BOX_PX = 56


class PlanBox(QWidget):
    """Signals:
    changed(TuneSettings)
    """

    changed = Signal(object)

    def __init__(self, tasks: Sequence[Task], settings: TuneSettings) -> None:
        super().__init__()
        self._tasks = tuple(tasks)
        self.kinds = _Chips(
            [(kind, kind_words(kind)) for kind in kinds_in(self._tasks)],
            lambda kind: kind not in settings.without,
            words.KIND_TIP,
            lambda kind: f"Kind of text: {kind_words(kind)}",
        )
        self.modes = _Chips(
            [(mode, mode_words(mode)) for mode in MODES],
            lambda mode: mode in settings.modes,
            words.MODE_TIP,
            lambda mode: f"Draft length {mode}",
        )
        self.n_tasks = _number("Prompts of each kind", settings.n_tasks, MOST_TASKS, words.N_TASKS)
        self.repeat = _number("Repeats", settings.repeat, MOST_REPEATS, words.REPEAT)
        self.temperature = temperature_box(settings.temperature)
        self.temperature.setToolTip(words.TEMPERATURE)
        for box in (self.n_tasks, self.repeat, self.temperature):
            leave_wheel(box)
        self._size = label(tone="muted", font=fonts.tabular(fonts.small()), wraps=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addLayout(_row("Kinds of text", self.kinds, words.KINDS))
        column.addLayout(_row("Draft lengths", self.modes, words.MODES))
        column.addWidget(self._numbers())
        for chips in (self.kinds, self.modes):
            chips.changed.connect(self._on_change)
        for box in (self.n_tasks, self.repeat, self.temperature):
            box.valueChanged.connect(lambda _: self._on_change())
        self._show_size()

    def _numbers(self) -> QWidget:
        holder = QWidget()
        flow = FlowLayout(holder, gap_px=16, line_px=8)
        boxes = (
            ("Prompts of each kind", self.n_tasks),
            ("Repeats", self.repeat),
            ("Temperature", self.temperature),
        )
        for name, box in boxes:
            pair = QWidget()
            row = QHBoxLayout(pair)
            row.setContentsMargins(0, 0, 0, 0)
            row.setSpacing(8)
            caption = label(name, tone="muted", font=fonts.small())
            caption.setToolTip(box.toolTip())
            caption.setBuddy(box)
            row.addWidget(caption)
            row.addWidget(box)
            flow.addWidget(pair)
        self._size.setWordWrap(False)
        flow.addWidget(self._size)
        return holder

    @property
    def settings(self) -> TuneSettings:
        return TuneSettings(
            without=tuple(kind for kind in self.kinds.all if kind not in self.kinds.chosen),
            modes=self.modes.chosen,
            n_tasks=self.n_tasks.value(),
            repeat=self.repeat.value(),
            temperature=round(self.temperature.value(), 2),
        )

    @property
    def plan(self) -> BenchPlan:
        return make_plan(self._tasks, self.settings)

    @property
    def size_words(self) -> str:
        return self._size.text()

    def _on_change(self) -> None:
        self._show_size()
        self.changed.emit(self.settings)

    def _show_size(self) -> None:
        plan = self.plan
        n_tokens = sum(task.max_tokens for task in plan.tasks) * len(plan.modes) * plan.repeat
        if not plan.tasks or len(plan.modes) < 2:
            self._size.setText("Nothing to compare")
        else:
            self._size.setText(f"{count(plan.n_runs, 'answer')}, at most {count(n_tokens, 'token')}")


class _Chips(QWidget):
    """Chips of which any number can be on.

    Signals:
        changed
    """

    changed = Signal()

    def __init__(
        self,
        names: Sequence[tuple[str, str]],
        is_on: Callable[[str], bool],
        tip: str,
        spoken: Callable[[str], str],
    ) -> None:
        super().__init__()
        self.all = tuple(name for name, _ in names)
        self.buttons: dict[str, TintedButton] = {}
        flow = FlowLayout(self, gap_px=6, line_px=6)
        for name, said in names:
            chip = self.buttons[name] = button(said, role="chip", tip=tip)
            chip.setAccessibleName(spoken(name))
            chip.setCheckable(True)
            chip.setChecked(is_on(name))
            chip.setFont(fonts.small())
            chip.toggled.connect(lambda _: self.changed.emit())
            flow.addWidget(chip)

    @property
    def chosen(self) -> tuple[str, ...]:
        return tuple(name for name in self.all if self.buttons[name].isChecked())


def _row(name: str, chips: QWidget, tip: str) -> QHBoxLayout:
    caption = label(name, tone="muted", font=fonts.small())
    caption.setToolTip(tip)
    caption.setFixedWidth(max(_CAPTION_PX, caption.sizeHint().width()))
    caption.setFixedHeight(28)
    row = QHBoxLayout()
    row.setSpacing(8)
    row.addWidget(caption, 0, Qt.AlignmentFlag.AlignTop)
    row.addWidget(chips, 1)
    return row


def _number(name: str, value: int, most: int, tip: str) -> QSpinBox:
    box = QSpinBox()
    box.setRange(1, most)
    box.setValue(value)
    box.setFixedWidth(_BOX_PX)
    box.lineEdit().setTextMargins(6, 0, 6, 0)
    box.setAccessibleName(name)
    box.setToolTip(tip)
    return box
