"""A blocking client of the engine service, for scripts."""

from __future__ import annotations

import queue
from dataclasses import dataclass, field
from types import TracebackType

from engine.budget.budget import Budget, BudgetQuestion
from engine.chat.messages import ChatMessage, Role
from engine.measure.metrics import Metrics, measure
from engine.models.bundle import Bundle
from engine.service import Service, ServiceEvent, WorkerLost
from engine.speculation.round import FinishReason, Round
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import (
    BudgetMeasured,
    Device,
    DevicesListed,
    Failed,
    Finished,
    FirstDifference,
    LaneFinished,
    Loaded,
    LoadSettings,
    Prompt,
    RoundDone,
)


@dataclass
class Lane:
    rounds: list[Round] = field(default_factory=list)
    reason: FinishReason = FinishReason.CANCELLED

    @property
    def tokens(self) -> list[int]:
        return [token for r in self.rounds for token in r.tokens]

    @property
    def text(self) -> str:
        return "".join(r.text for r in self.rounds)

    @property
    def metrics(self) -> Metrics:
        return measure(self.rounds)


@dataclass
class Outcome:
    lanes: dict[int, Lane]
    first_difference: FirstDifference | None


def chat(text: str) -> Prompt:
    return Prompt(messages=(ChatMessage(Role.USER, text),))


class Client:
    """Starts a worker, runs one job at a time, ends the worker."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[ServiceEvent] = queue.SimpleQueue()
        self._service = Service()

    def __enter__(self) -> Client:
        self._service.start(self._events.put)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._service.stop()

    def load(self, bundle: Bundle, settings: LoadSettings) -> Loaded:
        job = self._service.load(bundle, settings)
        while True:
            event = self._next()
            if isinstance(event, Loaded) and event.job == job:
                return event

    def devices(self) -> tuple[Device, ...]:
        job = self._service.list_devices()
        while True:
            event = self._next()
            if isinstance(event, DevicesListed) and event.job == job:
                return event.devices

    def budget(self, question: BudgetQuestion) -> Budget:
        job = self._service.budget(question)
        while True:
            event = self._next()
            if isinstance(event, BudgetMeasured) and event.job == job:
                return event.budget

    def generate(
        self, prompt: Prompt, settings: GenerationSettings, *, speculative: bool, fresh: bool = False
    ) -> Lane:
        outcome = self._collect(
            self._service.generate(prompt, settings, speculative=speculative, fresh=fresh)
        )
        (lane,) = outcome.lanes.values()
        return lane

    def race(self, prompt: Prompt, settings: GenerationSettings) -> Outcome:
        return self._collect(self._service.race(prompt, settings))

    def _collect(self, job: int) -> Outcome:
        lanes: dict[int, Lane] = {}
        while True:
            event = self._next()
            if isinstance(event, RoundDone) and event.job == job:
                lanes.setdefault(event.lane, Lane()).rounds.append(event.round)
            elif isinstance(event, LaneFinished) and event.job == job:
                lanes.setdefault(event.lane, Lane()).reason = event.reason
            elif isinstance(event, Finished) and event.job == job:
                return Outcome(lanes, event.first_difference)

    def _next(self) -> ServiceEvent:
        event = self._events.get(timeout=600)
        if isinstance(event, Failed | WorkerLost):
            raise RuntimeError(f"{event.sentence} {event.detail}")
        return event
