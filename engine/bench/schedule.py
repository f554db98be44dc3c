"""In which order a plan is run: the modes of a task right after each other, so that a drifting computer hits all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from engine.bench.plan import BenchPlan, Task
from engine.bench.results import BenchRunRecord


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One answer that is to be measured; `repeat` counts from 0."""

    task: Task
    mode: str
    repeat: int

    @property
    def key(self) -> tuple[str, str, int]:
        return (self.task.id, self.mode, self.repeat)

    @property
    def weight(self) -> float:
        """Roughly how long it takes, beside others: reading a prompt is fast, four characters are about a token."""
        return self.task.max_tokens + len(self.task.prompt) / 4 / 8


def schedule(plan: BenchPlan) -> tuple[PlannedRun, ...]:
    """Return every run of `plan` in order. The mode that begins rotates from task to task and repeat to repeat, so that
    none of them always meets the computer as another one left it.
    """
    runs = []
    for repeat in range(plan.repeat):
        for index, task in enumerate(plan.tasks):
            first = (index + repeat) % len(plan.modes)
            runs += [PlannedRun(task, mode, repeat) for mode in (*plan.modes[first:], *plan.modes[:first])]
    return tuple(runs)


def whole_groups(runs: Sequence[PlannedRun], records: Sequence[BenchRunRecord]) -> tuple[BenchRunRecord, ...]:
    """Return the `records` of those tasks and repeats that were measured in every mode.

    What was broken off in the middle of a task is measured anew: modes are compared only with what ran beside them.
    """
    by_key = {(record.task, record.mode, record.repeat): record for record in records}
    kept: list[BenchRunRecord] = []
    for _, group in groupby(runs, key=lambda run: (run.task.id, run.repeat)):
        found = [by_key.get(run.key) for run in group]
        whole = [record for record in found if record is not None]
        kept += whole if len(whole) == len(found) else []
    return tuple(kept)
