from __future__ import annotations

from itertools import pairwise

from engine.bench.plan import BenchPlan, Task
from engine.bench.schedule import schedule, whole_groups
from tests.engine.bench.records import record

TASKS = (Task("code-1", "code", "a"), Task("code-2", "code", "b"), Task("poem-1", "poem", "c"))
PLAN = BenchPlan(TASKS, ("off", "auto", "3"), repeat=2)


def test_every_task_runs_in_every_mode_as_often_as_it_is_repeated() -> None:
    runs = schedule(PLAN)
    assert len(runs) == len({run.key for run in runs}) == PLAN.n_runs == 18


def test_the_modes_of_a_task_follow_each_other_and_each_begins_in_turn() -> None:
    runs = schedule(PLAN)
    groups = [runs[i : i + 3] for i in range(0, len(runs), 3)]
    for group in groups:
        assert len({run.task.id for run in group}) == 1
        assert {run.mode for run in group} == {"off", "auto", "3"}
    assert [group[0].mode for group in groups] == ["off", "auto", "3", "auto", "3", "off"]
    assert all(first.repeat <= second.repeat for first, second in pairwise(runs))


def test_a_task_that_was_broken_off_is_measured_anew() -> None:
    whole = [record("code-1", mode, 5.0) for mode in ("off", "auto", "3")]
    torn = [record("code-2", mode, 5.0) for mode in ("auto", "3")]
    foreign = [record("other", "off", 5.0), record("code-1", "8", 5.0)]
    assert whole_groups(schedule(PLAN), [*torn, *foreign, *reversed(whole)]) == tuple(whole)
