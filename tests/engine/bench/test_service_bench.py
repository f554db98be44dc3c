from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from engine.bench.driver import Bench
from engine.bench.journal import Journal, journal_of
from engine.bench.plan import BenchPlan, Task
from engine.bench.service_bench import ServiceBench
from engine.chat.messages import Role
from engine.models.bundle import Bundle, DrafterChoice, DrafterKind
from engine.service import Reloading, ServiceEvent, WorkerLost
from engine.speculation.settings import SamplingSettings
from engine.worker.messages import Failed, Loaded, LoadedModel, LoadSettings, LogLine
from tests.engine.bench.records import MACHINE
from tests.engine.bench.scripted import ScriptedService, answer_events

TASKS = (
    Task("code-1", "code", "Write code.", 40),
    Task("poem-1", "poem", "Write a poem.", 40, system="Rhyme."),
)
PLAN = BenchPlan(TASKS, ("off", "auto", "3"))
BUNDLE = Bundle("Some bundle", "/models/target.gguf", DrafterChoice(DrafterKind.MODEL, "/models/small.gguf"))
N_WARM_UPS = 2


class Clock:
    """Goes on by a second whenever it is asked."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 1.0
        return self.now_s


@pytest.fixture
def service() -> ScriptedService:
    return ScriptedService()


def started(service: ScriptedService, plan: BenchPlan = PLAN, journal: Journal | None = None) -> ServiceBench:
    bench = ServiceBench(plan, BUNDLE, MACHINE, journal=journal, clock=Clock())
    bench.start(service)
    return bench


def answer(bench: Bench, service: ScriptedService, n: int = 1) -> None:
    """Answer the next `n` questions."""
    for _ in range(n):
        feed(bench, *answer_events(service.asked[-1]))


def feed(bench: Bench, *events: ServiceEvent) -> None:
    for event in events:
        bench.take(event)


def loaded(job: int) -> Loaded:
    model = LoadedModel("t", "t", "llama", 1, 2, 3, 0, 4, 5, True)
    return Loaded(job, model, None, 64, 1, False, (), {}, 0.0)


def die(bench: Bench, service: ScriptedService, *, reload_job: int = 900) -> None:
    """Have the worker end during the last question, and a new one begin to load."""
    job = service.asked[-1].job
    feed(
        bench,
        Failed(job, "WorkerDied", "It ended."),
        WorkerLost(job, "It ended.", "", ""),
        Reloading(reload_job),
    )


def test_the_warm_up_is_dropped_and_every_run_is_fresh(service: ScriptedService) -> None:
    bench = started(service)
    assert bench.progress.task is None
    answer(bench, service, N_WARM_UPS)
    assert bench.result.runs == ()
    assert [asked.settings.draft_length for asked in service.asked[:N_WARM_UPS]] == [0, None]
    answer(bench, service, PLAN.n_runs)
    assert bench.is_done
    assert len(service.asked) == N_WARM_UPS + PLAN.n_runs
    measured = service.asked[N_WARM_UPS:]
    assert all(asked.fresh for asked in measured)
    assert [asked.settings.draft_length for asked in measured] == [0, None, 3, None, 3, 0]
    assert [asked.speculative for asked in measured] == [False, True, True, True, True, False]
    assert {asked.settings.max_tokens for asked in measured} == {40}
    assert [message.role for message in measured[-1].prompt.messages] == [Role.SYSTEM, Role.USER]


def test_the_result_has_the_figures_of_the_rounds(service: ScriptedService) -> None:
    bench = started(service)
    answer(bench, service, N_WARM_UPS + PLAN.n_runs)
    result = bench.result
    assert (result.bundle, result.target, result.drafter) == ("Some bundle", "target.gguf", "small.gguf")
    assert result.machine == MACHINE
    assert result.is_complete
    assert result.measured_at
    off = next(run for run in result.runs if run.mode == "off")
    assert (off.n_prompt, off.n_tokens, off.rounds, off.prefill_s) == (12, 20, 19, 0.5)
    assert off.tokens_per_s == pytest.approx(10.0)
    best = result.proposed_mode
    assert best is not None
    assert best.mode in ("auto", "3")
    assert best.speedup == pytest.approx(1.9)
    assert [(one.category, one.mode) for one in result.figures][:3] == [
        ("code", "off"),
        ("code", "auto"),
        ("code", "3"),
    ]


def test_progress_tells_what_runs_and_what_is_left(service: ScriptedService) -> None:
    bench = started(service)
    assert (bench.progress.n_done, bench.progress.n_total, bench.progress.left_s) == (0, 6, None)
    answer(bench, service, N_WARM_UPS)
    assert (bench.progress.task, bench.progress.mode) == (TASKS[0], "off")
    answer(bench, service)
    halfway = bench.progress
    assert (halfway.n_done, halfway.mode) == (1, "auto")
    assert halfway.left_s is not None
    answer(bench, service, 5)
    assert (bench.progress.n_done, bench.progress.left_s) == (6, 0.0)


def test_what_is_not_about_it_changes_nothing(service: ScriptedService) -> None:
    bench = started(service)
    other = [
        Failed(77, "BadOption", "No."),
        loaded(78),
        LogLine("warn", "text"),
        *answer_events(service.asked[0])[:1],
    ]
    assert [bench.take(event) for event in other] == [False] * 4


def test_a_repeat_draws_from_a_seed_of_its_own(service: ScriptedService) -> None:
    plan = BenchPlan(TASKS[:1], ("off", "3"), repeat=2, sampling=SamplingSettings(temperature=0.8, seed=40))
    bench = started(service, plan)
    answer(bench, service, N_WARM_UPS + 4)
    assert [asked.settings.sampling.seed for asked in service.asked[N_WARM_UPS:]] == [40, 40, 41, 41]
    assert bench.result.temperature == 0.8


@pytest.mark.parametrize(("seed", "drawn"), [(0, [0, 1]), (2**63 - 1, [2**63 - 1, 0]), (None, [1, 2])])
def test_every_seed_that_may_be_given_can_be_repeated(
    service: ScriptedService, seed: int | None, drawn: list[int]
) -> None:
    plan = BenchPlan(TASKS[:1], ("off",), repeat=2, sampling=SamplingSettings(temperature=0.8, seed=seed))
    bench = started(service, plan)
    answer(bench, service, 3)
    assert [asked.settings.sampling.seed for asked in service.asked[1:]] == drawn


def test_a_cancel_keeps_what_is_measured_but_not_what_is_broken_off(service: ScriptedService) -> None:
    bench = started(service)
    answer(bench, service, N_WARM_UPS + 1)
    bench.cancel()
    was_done = bench.is_done
    assert not was_done
    job = service.asked[-1].job
    assert service.cancelled == [job]
    feed(bench, *answer_events(service.asked[-1], is_cut=True))
    assert bench.is_done
    assert [run.mode for run in bench.result.runs] == ["off"]
    assert bench.result.figures == ()
    assert not bench.result.is_complete
    bench.cancel()
    assert service.asked[-1].job == job


def test_modes_are_compared_over_the_same_tasks_while_it_runs(service: ScriptedService) -> None:
    bench = started(service)
    answer(bench, service, N_WARM_UPS + PLAN.n_runs - 1)
    result = bench.result
    assert len(result.runs) == 5
    assert [(one.category, one.mode) for one in result.figures] == [
        ("code", "off"), ("code", "auto"), ("code", "3"),
    ]  # fmt: skip
    assert [one.n_runs for one in result.overall] == [1, 1, 1]
    answer(bench, service)
    assert [one.n_runs for one in bench.result.overall] == [2, 2, 2]


def test_a_task_that_fails_is_left_out_in_every_mode(service: ScriptedService) -> None:
    bench = started(service)
    answer(bench, service, N_WARM_UPS + 1)
    bench.take(Failed(service.asked[-1].job, "PromptTooLong", "The prompt is too long."))
    answer(bench, service, 3)
    assert bench.is_done
    assert {run.task for run in bench.result.runs} == {"poem-1"}
    assert bench.result.left_out == ("a prompt of code (code-1): The prompt is too long.",)


def test_a_lost_worker_is_warmed_up_again_and_the_run_is_repeated(service: ScriptedService) -> None:
    bench = started(service)
    answer(bench, service, N_WARM_UPS + 1)
    die(bench, service)
    n_asked = len(service.asked)
    assert bench.progress.is_reloading
    was_done = bench.is_done
    assert not was_done
    bench.take(loaded(900))
    answer(bench, service, N_WARM_UPS + 5)
    assert bench.is_done
    assert len(service.asked) == n_asked + N_WARM_UPS + 5
    assert bench.result.is_complete
    assert len(bench.result.runs) == 6


def test_a_run_that_ends_the_worker_twice_is_left_out(service: ScriptedService) -> None:
    bench = started(service)
    answer(bench, service, N_WARM_UPS + 1)
    die(bench, service)
    bench.take(loaded(900))
    answer(bench, service, N_WARM_UPS)
    die(bench, service, reload_job=901)
    bench.take(loaded(901))
    answer(bench, service, N_WARM_UPS + 3)
    assert bench.is_done
    assert bench.result.left_out == ("a prompt of code (code-1): It ended.",)


def test_a_worker_that_ends_while_it_warms_up_ends_the_bench(service: ScriptedService) -> None:
    bench = started(service)
    die(bench, service)
    bench.take(loaded(900))
    die(bench, service, reload_job=901)
    bench.take(loaded(901))
    assert bench.is_done
    assert bench.result.left_out == ("It ended.",)


@pytest.mark.parametrize(
    "end", [Failed(900, "LoadFailed", "It does not load."), WorkerLost(0, "It does not load.", "", "")]
)
def test_a_bundle_that_cannot_be_loaded_again_ends_the_bench(
    service: ScriptedService, end: ServiceEvent
) -> None:
    bench = started(service)
    answer(bench, service, N_WARM_UPS + 1)
    die(bench, service)
    bench.take(end)
    assert bench.is_done
    assert bench.result.left_out == ("It does not load.",)
    assert len(bench.result.runs) == 1


def test_a_new_worker_that_cannot_be_started_ends_the_bench(service: ScriptedService) -> None:
    bench = started(service)
    answer(bench, service, N_WARM_UPS + 1)
    job = service.asked[-1].job
    feed(bench, Failed(job, "WorkerDied", "It ended."), WorkerLost(job, "It ended.", "", ""))
    assert bench.progress.is_reloading
    bench.take(WorkerLost(0, "The model process could not be started.", "", ""))
    assert bench.is_done
    assert bench.result.left_out == ("The model process could not be started.",)


def test_a_cancel_while_the_worker_is_lost_ends_it_at_once(service: ScriptedService) -> None:
    bench = started(service)
    answer(bench, service, N_WARM_UPS + 1)
    die(bench, service)
    bench.cancel()
    assert bench.is_done


def test_a_second_start_goes_on_with_the_next_whole_task(service: ScriptedService, tmp_path: Path) -> None:
    journal = journal_of(PLAN, BUNDLE, MACHINE, LoadSettings(), tmp_path)
    first = started(service, journal=journal)
    answer(first, service, N_WARM_UPS + 4)
    journal.flush()
    path = next(tmp_path.rglob("*.jsonl"))
    path.write_bytes(path.read_bytes() + b'{"task": "torn')
    again = ScriptedService()
    second = started(again, journal=journal)
    assert second.n_resumed == 3
    assert second.progress.n_done == 3
    answer(second, again, N_WARM_UPS + 3)
    assert second.is_done
    assert [run.task for run in second.result.runs] == ["code-1"] * 3 + ["poem-1"] * 3
    journal.flush()
    assert path.exists(), "it stays until the result is kept"
    second.forget()
    journal.flush()
    assert not path.exists()


def test_what_was_measured_more_than_a_day_ago_is_measured_again(
    service: ScriptedService, tmp_path: Path
) -> None:
    journal = journal_of(PLAN, BUNDLE, MACHINE, LoadSettings(), tmp_path)
    answer(started(service, journal=journal), service, N_WARM_UPS + 4)
    journal.flush()
    path = next(tmp_path.rglob("*.jsonl"))
    long_ago_s = time.time() - 25 * 3600
    os.utime(path, (long_ago_s, long_ago_s))
    assert started(ScriptedService(), journal=journal).n_resumed == 0


def test_another_plan_bundle_or_computer_has_a_journal_of_its_own(tmp_path: Path) -> None:
    kept = journal_of(PLAN, BUNDLE, MACHINE, LoadSettings(), tmp_path)
    for other in (
        journal_of(BenchPlan(TASKS, ("off", "3")), BUNDLE, MACHINE, LoadSettings(), tmp_path),
        journal_of(PLAN, Bundle("x", "/models/other.gguf"), MACHINE, LoadSettings(), tmp_path),
        journal_of(PLAN, BUNDLE, MACHINE, LoadSettings(n_ctx=512), tmp_path),
    ):
        kept.begin(())
        other.begin(())
        other.discard()
        kept.flush()
        other.flush()
        assert len(list(tmp_path.rglob("*.jsonl"))) == 1


def test_a_journal_that_cannot_be_written_costs_nothing_but_the_resuming(
    service: ScriptedService, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    bench = started(service, journal=Journal(tmp_path / "file" / "x.jsonl"))
    answer(bench, service, N_WARM_UPS + PLAN.n_runs)
    assert bench.result.is_complete


def test_nothing_is_asked_where_nothing_is_planned(service: ScriptedService) -> None:
    bench = started(service, BenchPlan((), ("off",)))
    assert bench.is_done
    assert service.asked == []
    assert bench.result.proposed_mode is None
