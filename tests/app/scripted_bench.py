"""A stand-in for the engine's bench: answers each run of its plan through the service, with figures from a script."""

from __future__ import annotations

import errno
import os
import statistics
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from app.tune.tools import BenchTools, Measured
from engine.bench.advice import worth_enabling, worth_for
from engine.bench.plan import AUTO, OFF, BenchPlan, Task, draft_length_of
from engine.bench.results import BenchResult, BenchRunRecord, Machine, ModeFigures
from engine.chat.messages import ChatMessage, Role
from engine.models.bundle import Bundle
from engine.service import EngineService, ServiceEvent
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import Failed, Finished, Prompt

KINDS = (
    *("coding", "editing", "maths", "extraction"),
    *("translation", "summarising", "questions", "creative"),
)
# How fast each kind of text is at a draft length, by how often a guess is right and what a wider pass costs.
_RIGHT = dict(zip(KINDS, (0.78, 0.9, 0.7, 0.84, 0.5, 0.58, 0.45, 0.25), strict=True))
_PLAIN_TOKENS_PER_S = 24.0
TASKS = tuple(
    Task(f"{kind}-{n}", kind, f"Prompt {n} of {kind}.", max_tokens=24) for kind in KINDS for n in range(1, 5)
)
MACHINE = Machine("Linux 6.1 x86_64", "AMD EPYC 9654", (), 2, "0.4.0", "0.3.36", chooses_threads=True)


def speedup_of(kind: str, mode: str) -> float:
    """Return how much faster a kind of text is in a mode: a model of a computer, not of chance."""
    length = draft_length_of(mode)
    if length is None:
        return max(1.01, 0.97 * max(speedup_of(kind, str(n)) for n in (1, 2, 3, 4, 6, 8)))
    right = _RIGHT[kind]
    out = 1 + sum(right**i for i in range(1, length + 1))
    return out / (1 + 0.16 * length + 0.03 * max(0, length - 3))


def figures_of(kind: str, mode: str, n_runs: int = 1) -> ModeFigures:
    length = draft_length_of(mode) or (4 if mode == AUTO else 0)
    speed = _PLAIN_TOKENS_PER_S * speedup_of(kind, mode)
    right = _RIGHT[kind]
    positions = tuple(right**i for i in range(1, length + 1))
    return ModeFigures(
        kind,
        mode,
        n_runs,
        speed,
        speed * 0.97,
        speed * 1.02,
        speedup_of(kind, mode),
        statistics.fmean(positions) if positions else None,
        1 + sum(positions),
        positions,
    )


def result_of(
    bundle: Bundle, kinds: tuple[str, ...] = KINDS, modes: tuple[str, ...] = (OFF, AUTO, "1", "2", "4", "8")
) -> BenchResult:
    """Return a complete result."""
    return _result(bundle, [(kind, mode) for kind in kinds for mode in modes], is_complete=True)


def _result(bundle: Bundle, done: list[tuple[str, str]], *, is_complete: bool) -> BenchResult:
    pairs = list(dict.fromkeys(done))
    figures = tuple(figures_of(kind, mode, done.count((kind, mode))) for kind, mode in pairs)
    overall = []
    for mode in dict.fromkeys(mode for _, mode in pairs):
        own = [one for one in figures if one.mode == mode]
        overall.append(
            msgspec.structs.replace(
                own[0],
                category="overall",
                n_runs=sum(one.n_runs for one in own),
                tokens_per_s=statistics.geometric_mean([one.tokens_per_s or 1.0 for one in own]),
                speedup=statistics.geometric_mean([one.speedup or 1.0 for one in own]),
            )
        )
    drafter = Path(bundle.drafter.path).name or bundle.drafter.kind.value
    drafter += " + ngram" * (bundle.drafter.with_ngram and bundle.drafter.kind.has_weights)
    return BenchResult(
        bundle.name,
        Path(bundle.target).name,
        drafter,
        0.0,
        MACHINE,
        figures,
        tuple(overall),
        tuple(BenchRunRecord(kind, kind, mode, 0, 40, 24, 24.0, 1.0, 0.1, 12) for kind, mode in done),
        "2026-11-29T22:15:00+00:00",
        is_complete,
    )


@dataclass
class ScriptedProgress:
    n_done: int = 0
    n_total: int = 0
    task: Task | None = None
    mode: str = ""
    left_s: float | None = None
    is_reloading: bool = False


class ScriptedBench:
    """Implements engine.bench.driver.Bench; what comes back from the service only says that a run is over."""

    def __init__(
        self, plan: BenchPlan, bundle: Bundle, left_out: tuple[str, ...] = (), n_resumed: int = 0
    ) -> None:
        self._left_out = left_out
        self.n_resumed = n_resumed
        self.is_forgotten = False
        self._runs = [(task, mode) for _ in range(plan.repeat) for task in plan.tasks for mode in plan.modes]
        self._n_modes = len(plan.modes)
        self._bundle = bundle
        self._done: list[tuple[str, str]] = []
        self._service: EngineService | None = None
        self._job = 0
        self._is_over = self._is_cancelled = False

    def start(self, service: EngineService) -> None:
        self._service = service
        self._go_on()

    def take(self, event: ServiceEvent) -> bool:
        if not isinstance(event, Finished | Failed) or event.job != self._job or self._is_over:
            return False
        if isinstance(event, Failed):
            self._is_cancelled = True
        elif not self._is_cancelled:
            task, mode = self._runs[len(self._done)]
            self._done.append((task.category, mode))
        self._go_on()
        return True

    def cancel(self) -> None:
        self._is_cancelled = True
        assert self._service is not None
        self._service.cancel(self._job)

    def forget(self) -> None:
        self.is_forgotten = True

    @property
    def is_done(self) -> bool:
        return self._is_over

    @property
    def progress(self) -> ScriptedProgress:
        n_done, n_total = len(self._done), len(self._runs)
        if n_done == n_total:
            return ScriptedProgress(n_done, n_total, left_s=0.0)
        task, mode = self._runs[n_done]
        return ScriptedProgress(n_done, n_total, task, mode, 6.2 * (n_total - n_done) if n_done else None)

    @property
    def result(self) -> BenchResult:
        # As in the engine's: what was not measured in all modes is not compared yet.
        n_whole = len(self._done) // self._n_modes * self._n_modes
        whole = _result(self._bundle, self._done[:n_whole], is_complete=len(self._done) == len(self._runs))
        return msgspec.structs.replace(whole, left_out=self._left_out)

    def _go_on(self) -> None:
        if self._is_cancelled or len(self._done) == len(self._runs):
            self._is_over = True
            return
        task, mode = self._runs[len(self._done)]
        assert self._service is not None
        prompt = Prompt(messages=(ChatMessage(Role.USER, task.prompt),))
        settings = GenerationSettings(max_tokens=task.max_tokens, draft_length=draft_length_of(mode))
        self._job = self._service.generate(prompt, settings, speculative=mode != OFF, fresh=True)


@dataclass
class BenchScript:
    """What the tools do: `shelf` are stored results by target file, `kept` what was kept, unless the disk is full.

    `benches` are those that were made, each of which begins with `n_resumed` answers.
    """

    shelf: dict[str, BenchResult] = field(default_factory=dict)
    kept: list[tuple[Bundle, BenchResult]] = field(default_factory=list)
    made: list[tuple[BenchPlan, Measured]] = field(default_factory=list)
    benches: list[ScriptedBench] = field(default_factory=list)
    left_out: tuple[str, ...] = ()
    n_resumed: int = 0
    is_full: bool = False

    def tools(self) -> BenchTools:
        return BenchTools(
            tasks=TASKS,
            make=self._make,
            stored=lambda bundle: self.shelf.get(bundle.target),
            keep=self._keep,
            advise=worth_enabling,
            advise_for=worth_for,
            markdown=lambda result: f"# {result.bundle}\n",
            json=lambda result: msgspec.json.encode(result).decode(),
        )

    def _make(self, plan: BenchPlan, measured: Measured) -> ScriptedBench:
        self.made.append((plan, measured))
        self.benches.append(ScriptedBench(plan, measured.bundle, self.left_out, self.n_resumed))
        self.n_resumed = 0
        return self.benches[-1]

    def _keep(self, bundle: Bundle, result: BenchResult) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.kept.append((bundle, result))
