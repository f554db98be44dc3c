"""What is to be measured: the choices of the Tune page, remembered, and the plan that they make."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from engine.bench.plan import AUTO, DEFAULT_MODES, OFF, BenchPlan, Task
from engine.bench.tasks import choose_tasks
from engine.speculation.settings import SamplingSettings

MODES = tuple(mode for mode in DEFAULT_MODES if mode != OFF)
"""What can be chosen; off is always measured, everything is compared with it."""
MOST_TASKS, MOST_REPEATS = 4, 5


class TuneSettings(msgspec.Struct, frozen=True):
    """`without` are kinds of text that are left out, `n_tasks` how many prompts of each other kind are taken."""

    without: tuple[str, ...] = ()
    modes: tuple[str, ...] = (AUTO, "1", "2", "4", "8")
    n_tasks: int = 1
    repeat: int = 1
    temperature: float = 0.0


def kinds_in(tasks: Sequence[Task]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(task.category for task in tasks))


def make_plan(tasks: Sequence[Task], settings: TuneSettings) -> BenchPlan:
    """Return the plan that `settings` make of `tasks`; it may be one of no runs at all."""
    wanted = [task for task in tasks if task.category not in settings.without]
    chosen = choose_tasks(wanted, n_per_category=max(1, settings.n_tasks))
    modes = tuple(mode for mode in MODES if mode in settings.modes)
    sampling = SamplingSettings(temperature=settings.temperature)
    return BenchPlan(chosen, (OFF, *modes), max(1, settings.repeat), sampling)
