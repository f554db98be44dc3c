"""A bench over the engine service: one answer at a time, resumed after a lost worker or on another day."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from engine.bench.figures import category_figures, overall_figures
from engine.bench.journal import Journal
from engine.bench.plan import AUTO, OFF, BenchPlan, Task, draft_length_of
from engine.bench.progress import Pace, Progress
from engine.bench.results import BenchResult, BenchRunRecord, Machine
from engine.bench.schedule import PlannedRun, schedule, whole_groups
from engine.chat.messages import ChatMessage, Role
from engine.errors import WorkerDied
from engine.measure.metrics import Metrics
from engine.models.bundle import Bundle
from engine.service import EngineService, Reloading, ServiceEvent, WorkerLost
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import Failed, Finished, Loaded, Prompt, RoundDone

_WARM_UP: Final = Task(
    "warm-up", "", "Write the numbers from one to forty as words, separated by commas.", max_tokens=24
)
_N_SEEDS: Final = 2**63
_MOST_DEATHS: Final = 2
"""A run that has ended the worker so often is left out."""


class ServiceBench:
    """A Bench (engine/bench/driver.py) of `bundle`, which is loaded, on `machine`.

    `journal` keeps what is measured until `forget` is called; what is in it already is not measured again.
    """

    def __init__(
        self,
        plan: BenchPlan,
        bundle: Bundle,
        machine: Machine,
        *,
        journal: Journal | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._plan = plan
        self._bundle = bundle
        self._machine = machine
        self._journal = journal
        self._clock = clock
        self._runs = schedule(plan)
        self._records: list[BenchRunRecord] = []
        self._todo: deque[PlannedRun] = deque()
        self._warm_ups: deque[str] = deque()
        self._service: EngineService | None = None
        self._job = 0
        self._metrics = Metrics()
        self._is_cancelled = False
        self._is_done = False
        self._lost: _Lost | None = None
        self._deaths = 0
        self._pace = Pace()
        self._began_at = 0.0
        self._left_out: dict[str, str] = {}

    # ------------------------------------------------------------------------------------------- what is asked

    def start(self, service: EngineService) -> None:
        self._service = service
        if self._journal is not None:
            self._records = list(whole_groups(self._runs, self._journal.read()))
            self._journal.begin(self._records)
        done = {(record.task, record.mode, record.repeat) for record in self._records}
        self._todo.extend(run for run in self._runs if run.key not in done)
        self._warm_up()
        self._go_on()

    def take(self, event: ServiceEvent) -> bool:
        """Take an event; return whether `result` or `progress` changed."""
        if self._is_done or self._service is None:
            return False
        if isinstance(event, RoundDone) and event.job == self._job:
            self._metrics = self._metrics.plus(event.round)
            return False
        if isinstance(event, Finished) and event.job == self._job:
            self._end_run()
        elif isinstance(event, Failed) and event.job == self._job:
            self._fail(event)
        elif self._lost is not None:
            self._recover(event, self._lost)
        else:
            return False
        return True

    def cancel(self) -> None:
        self._is_cancelled = True
        if self._job and self._service is not None:
            self._service.cancel(self._job)
        else:
            self._finish()

    def forget(self) -> None:
        """Keep nothing to go on from: the whole result is kept elsewhere, or is not wanted."""
        if self._journal is not None:
            self._journal.discard()

    @property
    def is_done(self) -> bool:
        return self._is_done

    @property
    def n_resumed(self) -> int:
        """How many runs were in the journal already."""
        return len(self._records) - self._pace.n_runs

    @property
    def progress(self) -> Progress:
        n_done = len(self._runs) - len(self._todo)
        if not self._todo or self._is_done or self._warm_ups or self._lost is not None:
            left_s = None if self._todo else 0.0
            return Progress(n_done, len(self._runs), left_s=left_s, is_reloading=self._lost is not None)
        left_s = self._pace.left_s(sum(run.weight for run in self._todo), self._clock() - self._began_at)
        return Progress(n_done, len(self._runs), self._todo[0].task, self._todo[0].mode, left_s)

    @property
    def result(self) -> BenchResult:
        """What is measured so far; `is_complete` says whether that is all.

        `runs` are all of them, figures those of tasks that were measured in every mode: no mode is held against another
        one over other texts.
        """
        whole = whole_groups(self._runs, self._records)
        figures = category_figures(whole, self._plan.modes)
        drafter = self._bundle.drafter
        name = Path(drafter.path).name if drafter.path else str(drafter.kind)
        return BenchResult(
            bundle=self._bundle.name,
            target=Path(self._bundle.target).name,
            drafter=f"{name} + ngram" if drafter.with_ngram and drafter.kind.has_weights else name,
            temperature=self._plan.sampling.temperature,
            machine=self._machine,
            figures=figures,
            overall=overall_figures(figures, whole),
            runs=tuple(self._records),
            measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
            is_complete=not self._todo,
            left_out=tuple(self._left_out.values()),
        )

    # ------------------------------------------------------------------------------------------------ one run

    def _warm_up(self) -> None:
        """Have caches filled and costs learned before anything counts: one answer plain, one with drafts."""
        drafting = sorted((mode for mode in self._plan.modes if mode != OFF), key=lambda mode: mode != AUTO)
        self._warm_ups.extend([OFF, *drafting[:1]] if self._todo else [])

    def _go_on(self) -> None:
        if self._is_cancelled or not self._todo:
            self._finish()
        elif self._warm_ups:
            self._ask(_WARM_UP, self._warm_ups[0], 0)
        else:
            run = self._todo[0]
            self._ask(run.task, run.mode, run.repeat)

    def _ask(self, task: Task, mode: str, repeat: int) -> None:
        assert self._service is not None
        system = (ChatMessage(Role.SYSTEM, task.system),) if task.system else ()
        prompt = Prompt(messages=(*system, ChatMessage(Role.USER, task.prompt)))
        sampling = self._plan.sampling
        # Every mode of a repeat draws from the same seed, every repeat from another one.
        first = 1 if sampling.seed is None else sampling.seed
        sampling = msgspec.structs.replace(sampling, seed=(first + repeat) % _N_SEEDS)
        settings = GenerationSettings(sampling, task.max_tokens, draft_length_of(mode))
        self._metrics = Metrics()
        self._began_at = self._clock()
        self._job = self._service.generate(prompt, settings, speculative=mode != OFF, fresh=True)

    def _end_run(self) -> None:
        self._job = 0
        is_whole = self._metrics.finish_reason is not None
        if self._warm_ups:
            self._warm_ups.popleft()
        elif is_whole:
            run = self._todo.popleft()
            self._deaths = 0
            self._pace = self._pace.plus(run.weight, self._clock() - self._began_at)
            self._keep(record_of(run, self._metrics))
        self._go_on()

    def _keep(self, record: BenchRunRecord) -> None:
        self._records.append(record)
        if self._journal is not None:
            self._journal.append(record)

    def _finish(self) -> None:
        self._is_done = True
        self._lost = None

    # --------------------------------------------------------------------------------------------- what goes wrong

    def _fail(self, event: Failed) -> None:
        self._job = 0
        if event.kind == WorkerDied.__name__:
            self._lost = _Lost(event.sentence)
            self._deaths += 1
            return
        if self._warm_ups:
            self._left_out[""] = event.sentence
            self._finish()
            return
        if not self._is_cancelled:
            self._leave_out(event.sentence)
        self._go_on()

    def _leave_out(self, reason: str) -> None:
        """Leave out the whole task: what failed in one mode has nothing to be compared with."""
        task, category = self._todo[0].task.id, self._todo[0].task.category
        self._left_out[task] = f"a prompt of {category} ({task}): {reason}"
        self._todo = deque(run for run in self._todo if run.task.id != task)
        self._records = [record for record in self._records if record.task != task]

    def _recover(self, event: ServiceEvent, lost: _Lost) -> None:
        """Wait until a new worker has loaded the bundle again; where that fails too, end with what there is."""
        if isinstance(event, Reloading):
            self._lost = msgspec.structs.replace(lost, reload_job=event.job)
        elif isinstance(event, Loaded) and event.job == lost.reload_job:
            self._lost = None
            self._begin_again(lost)
        elif isinstance(event, WorkerLost) and not lost.is_told:
            self._lost = msgspec.structs.replace(lost, is_told=True)
        elif isinstance(event, WorkerLost) or (isinstance(event, Failed) and event.job == lost.reload_job):
            self._left_out[""] = event.sentence
            self._finish()

    def _begin_again(self, lost: _Lost) -> None:
        """The bundle is loaded again; do not let a run that ends the worker end it for ever."""
        if self._deaths >= _MOST_DEATHS:
            self._deaths = 0
            if self._warm_ups:
                self._left_out[""] = lost.sentence
                self._finish()
                return
            self._leave_out(lost.sentence)
        self._warm_ups.clear()
        self._warm_up()
        self._go_on()


class _Lost(msgspec.Struct, frozen=True):
    """The worker has ended. `is_told`: WorkerLost came; `reload_job` 0: nothing is being loaded again yet."""

    sentence: str
    is_told: bool = False
    reload_job: int = 0


def record_of(run: PlannedRun, metrics: Metrics) -> BenchRunRecord:
    """Return the record of an answer; what precedes its first token counts as prefill."""
    return BenchRunRecord(
        task=run.task.id,
        category=run.task.category,
        mode=run.mode,
        repeat=run.repeat,
        n_prompt=metrics.n_prompt,
        n_tokens=metrics.n_tokens,
        tokens_per_s=metrics.tokens_per_s,
        end_to_end_s=metrics.end_to_end_s,
        prefill_s=metrics.to_first_token_s,
        rounds=metrics.rounds,
        drafted_by_position=metrics.drafted_by_position,
        accepted_by_position=metrics.accepted_by_position,
    )
