"""A stand-in for the engine at its process boundary: replays rounds from a script, on its own thread, in real
time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from engine.budget.budget import BudgetQuestion
from engine.models.bundle import Bundle
from engine.service import Reloading, ServiceEvent, WorkerAnswers, WorkerLost, WorkerSilent
from engine.speculation.round import DraftSource, FinishReason, Round, Skip
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import (
    Device,
    Failed,
    Finished,
    FirstDifference,
    LaneFinished,
    Loaded,
    LoadedModel,
    LoadProgress,
    LoadSettings,
    Prompt,
    Ready,
    RoundDone,
    Started,
    Unloaded,
)

ANSWER = (
    "Speculative decoding lets a small, quick guesser run ahead of the model. "
    "The model then checks all guesses in one pass and keeps the longest part that it agrees with.\n\n"
    "1. Draft a few tokens.\n2. Verify them in one pass.\n3. Keep what was right, and add one token.\n\n"
)


SKIP = Skip(DraftSource.DRAFT_MODEL, 3, 2.8, 0.3, 0.9, 0.41)
_DRAFT_LENGTH = 3


@dataclass(frozen=True)
class Script:
    """What the stand-in does. Times in seconds; `accept`: how many of a round's drafts are accepted; `controller`: who
    drafts how far in turn, 0 is a skip, where the draft length is left to it.
    """

    text: str = ANSWER * 3
    load_s: float = 0.0
    pass_s: float = 0.02
    draft_s: float = 0.002
    accept: tuple[int, ...] = (3, 1, 0, 3, 2)
    slow_check: float = 1.15
    speed: float = 1.0
    n_prompt: int = 40
    load_failure: Failed | None = None
    failure: Failed | None = None
    lost_after_rounds: int | None = None
    silent_after_rounds: int | None = None
    difference_at: int | None = None
    has_chat_template: bool = True
    logit_gap: float | None = 0.0031
    controller: tuple[tuple[DraftSource, int], ...] = ()


def pieces_of(text: str) -> list[str]:
    """Cut `text` into pieces that look like tokens: a space and up to five characters."""
    pieces: list[str] = []
    for word in text.replace(" ", "\0 ").split("\0"):
        pieces.extend(word[i : i + 6] for i in range(0, len(word), 6))
    return pieces


def rounds_of(script: Script, settings: GenerationSettings, *, speculative: bool) -> Iterator[Round]:
    """Yield the rounds of one lane."""
    pieces = pieces_of(script.text)[: settings.max_tokens]
    length = _DRAFT_LENGTH if settings.draft_length is None else settings.draft_length
    drafting = speculative and length > 0
    yield Round((1000,), (pieces[0],), n_prompt=script.n_prompt, verify_s=0.05, total_s=0.05)
    at, n = 1, 0
    while at < len(pieces):
        source, n_drafted = (DraftSource.NGRAM, length) if drafting else (DraftSource.NONE, 0)
        if drafting and settings.draft_length is None and script.controller:
            source, n_drafted = script.controller[n % len(script.controller)]
        accepted = (
            min(script.accept[n % len(script.accept)], n_drafted, len(pieces) - at - 1) if drafting else 0
        )
        accepted = max(accepted, 0)
        taken = pieces[at : at + accepted + 1]
        at, n = at + len(taken), n + 1
        verify_s = script.pass_s * (script.slow_check if n_drafted else 1.0)
        draft_s = script.draft_s * n_drafted
        reason = None
        if at >= len(pieces):
            reason = FinishReason.LENGTH if len(pieces) == settings.max_tokens else FinishReason.STOP
        yield Round(
            tokens=tuple(range(2000 + at, 2000 + at + len(taken))),
            pieces=tuple(taken),
            drafted=tuple(range(n_drafted)),
            accepted=accepted,
            source=source if n_drafted else DraftSource.NONE,
            draft_s=draft_s,
            verify_s=verify_s,
            total_s=draft_s + verify_s,
            finish_reason=reason,
            skip=SKIP if drafting and not n_drafted else None,
        )


def loaded_event(job: int, bundle: Bundle, *, n_ctx: int = 8192, has_chat_template: bool = True) -> Loaded:
    name, sizes = "SmolLM2 135M Instruct", (134_515_008, 49_152, 30, 0, 8192, 91_000_000)
    target = LoadedModel(bundle.target, name, "llama", *sizes, has_chat_template)
    cpu = Device("CPU", "AMD EPYC 9654", "cpu", 12 * 2**30, 16 * 2**30)
    return Loaded(job, target, None, n_ctx, 2, False, (cpu,), {"CPU": 310 * 2**20}, 0.4)


@dataclass
class ScriptedService:
    """Implements engine.service.EngineService. `calls` is what the window asked for; `deaf` hears no cancel."""

    script: Script = field(default_factory=Script)
    calls: list[tuple[str, object]] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)
    reload_failure: Failed | None = None
    deaf: bool = False

    def __post_init__(self) -> None:
        self._jobs = count(1)
        self._cancelled: set[int] = set()
        self._threads: list[threading.Thread] = []
        self._on_event: Callable[[ServiceEvent], None] = lambda _: None
        self._stopping = threading.Event()
        self._turn = threading.Lock()
        self._loaded: tuple[Bundle, LoadSettings] | None = None
        self.ended = threading.Event()

    def start(self, on_event: Callable[[ServiceEvent], None]) -> None:
        self._on_event = on_event
        self.tell(Ready(4242, "0.3.36"))

    def tell(self, event: ServiceEvent) -> None:
        """Send `event` as the engine thread would."""
        self._on_event(event)

    def load(self, bundle: Bundle, settings: LoadSettings) -> int:
        return self._spawn("load", (bundle, settings), lambda job: self._load(job, bundle, settings))

    def unload(self) -> int:
        return self._spawn("unload", None, lambda job: self.tell(Unloaded(job)))

    def generate(
        self, prompt: Prompt, settings: GenerationSettings, *, speculative: bool, fresh: bool = False
    ) -> int:
        self.prompts.append(prompt)
        lanes = {0: rounds_of(self.script, settings, speculative=speculative)}
        return self._spawn("generate", (prompt, settings, speculative), lambda job: self._run(job, lanes))

    def race(self, prompt: Prompt, settings: GenerationSettings) -> int:
        self.prompts.append(prompt)
        lanes = {i: rounds_of(self.script, settings, speculative=bool(i)) for i in (0, 1)}
        return self._spawn("race", (prompt, settings), lambda job: self._run(job, lanes))

    def list_devices(self) -> int:
        return next(self._jobs)

    def measure_devices(self) -> int:
        return next(self._jobs)

    def budget(self, question: BudgetQuestion) -> int:
        return next(self._jobs)

    def cancel(self, job: int) -> None:
        self.calls.append(("cancel", job))
        if not self.deaf:
            self._cancelled.add(job)

    def end_worker(self) -> None:
        self.calls.append(("end_worker", None))
        self.ended.set()

    def stop(self, timeout_s: float = 1.0) -> None:
        self.calls.append(("stop", timeout_s))
        self._stopping.set()
        self.ended.set()
        for thread in self._threads:
            thread.join(timeout_s)

    def _spawn(self, name: str, what: object, work: Callable[[int], None]) -> int:
        job = next(self._jobs)
        self.calls.append((name, what))

        def in_turn() -> None:
            with self._turn:
                work(job)

        thread = threading.Thread(target=in_turn, name=f"scripted-{name}", daemon=True)
        self._threads.append(thread)
        thread.start()
        return job

    def _wait(self, seconds: float) -> None:
        if seconds > 0:
            self._stopping.wait(seconds / self.script.speed)

    def _load(self, job: int, bundle: Bundle, settings: LoadSettings) -> None:
        steps = 20
        for i in range(steps):
            if job in self._cancelled or self._stopping.is_set():
                self.tell(Failed(job, "Cancelled", "Loading was stopped."))
                return
            self.tell(LoadProgress(job, "target", i / steps))
            self._wait(self.script.load_s / steps)
        if self.script.load_failure is not None:
            failure = self.script.load_failure
            self.tell(Failed(job, failure.kind, failure.sentence, failure.remedy, failure.detail))
            return
        self._loaded = bundle, settings
        has_template = self.script.has_chat_template
        self.tell(loaded_event(job, bundle, n_ctx=settings.n_ctx or 8192, has_chat_template=has_template))

    def _run(self, job: int, lanes: dict[int, Iterator[Round]]) -> None:
        if self.script.failure is not None:
            failure = self.script.failure
            self.tell(Failed(job, failure.kind, failure.sentence, failure.remedy, failure.detail))
            return
        self.tell(Started(job, self.script.n_prompt, 0, 7))
        clocks = dict.fromkeys(lanes, 0.0)
        reasons = dict.fromkeys(lanes, FinishReason.STOP)
        n_rounds = 0
        while lanes and not self._stopping.is_set():
            lane = min(lanes, key=lambda i: clocks[i])
            one = FinishReason.CANCELLED if job in self._cancelled else next(lanes[lane], None)
            if not isinstance(one, Round):
                lanes.pop(lane)
                self.tell(LaneFinished(job, lane, one or reasons[lane]))
                continue
            self._wait(one.total_s)
            clocks[lane] += one.total_s
            reasons[lane] = one.finish_reason or reasons[lane]
            self.tell(RoundDone(job, lane, one))
            n_rounds += 1
            if n_rounds == self.script.lost_after_rounds:
                self._lose(job)
                return
            if n_rounds == self.script.silent_after_rounds and not self._fall_silent(job):
                return
        self.tell(Finished(job, self._difference()))

    def _difference(self) -> FirstDifference | None:
        at = self.script.difference_at
        return None if at is None else FirstDifference(at, 11, 12, self.script.logit_gap, 0.0002)

    def _lose(self, job: int) -> None:
        """Die as a killed worker does: the job fails, the engine says so, and loads again what was loaded."""
        what = (
            "The model's process was ended by the system (signal 9).",
            "What came so far is kept.",
            "exit code -9",
        )
        self.tell(Failed(job, "WorkerDied", *what))
        self.tell(WorkerLost(job, *what))
        self.script = replace(self.script, lost_after_rounds=None)
        self.tell(Ready(4243, "0.3.36"))
        if self._loaded is None:
            return
        reload_job = next(self._jobs)
        self.tell(Reloading(reload_job))
        self.script = replace(self.script, load_failure=self.reload_failure)
        self._load(reload_job, *self._loaded)

    def _fall_silent(self, job: int) -> bool:
        """Say nothing until the window ends the worker; returns whether the job goes on."""
        self.tell(WorkerSilent(job, 6.0))
        while not self.ended.wait(0.02):
            if job in self._cancelled:
                self.tell(WorkerAnswers())
                return True
        if not self._stopping.is_set():
            time.sleep(0.01)
            self._lose(job)
        return False
