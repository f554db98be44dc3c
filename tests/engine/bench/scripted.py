"""An engine service that says what a test has written, in place of the one with a worker process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from engine.budget.budget import BudgetQuestion
from engine.models.bundle import Bundle
from engine.service import ServiceEvent
from engine.speculation.round import FinishReason, Round
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import Finished, LaneFinished, LoadSettings, Prompt, RoundDone

PROMPT_PASS = Round(tokens=(1,), n_prompt=12, verify_s=0.5, total_s=0.5)


@dataclass(frozen=True)
class Asked:
    """One answer that was asked for."""

    job: int
    prompt: Prompt
    settings: GenerationSettings
    speculative: bool
    fresh: bool


@dataclass
class ScriptedService:
    """Keeps what it is asked; the test answers."""

    asked: list[Asked] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)

    def start(self, on_event: Callable[[ServiceEvent], None]) -> None:
        raise NotImplementedError

    def load(self, bundle: Bundle, settings: LoadSettings) -> int:
        raise NotImplementedError

    def unload(self) -> int:
        raise NotImplementedError

    def generate(
        self, prompt: Prompt, settings: GenerationSettings, *, speculative: bool, fresh: bool = False
    ) -> int:
        self.asked.append(Asked(len(self.asked) + 1, prompt, settings, speculative, fresh))
        return self.asked[-1].job

    def race(self, prompt: Prompt, settings: GenerationSettings) -> int:
        raise NotImplementedError

    def list_devices(self) -> int:
        raise NotImplementedError

    def budget(self, question: BudgetQuestion) -> int:
        raise NotImplementedError

    def measure_devices(self) -> int:
        raise NotImplementedError

    def cancel(self, job: int) -> None:
        self.cancelled.append(job)

    def end_worker(self) -> None:
        raise NotImplementedError

    def stop(self, timeout_s: float = 1.0) -> None:
        raise NotImplementedError


def answer_events(asked: Asked, n_tokens: int = 20, *, is_cut: bool = False) -> list[ServiceEvent]:
    """Return the events of an answer: 0.1 s a round, with drafts two tokens a round."""
    lane = 1 if asked.speculative else 0
    rounds = [PROMPT_PASS]
    left = n_tokens - 1
    while left > 0:
        n = min(left, 2 if asked.speculative else 1)
        drafted = (2,) if asked.speculative else ()
        rounds.append(Round(tokens=(2,) * n, drafted=drafted, accepted=n - 1, verify_s=0.1, total_s=0.1))
        left -= n
    reason = FinishReason.CANCELLED if is_cut else FinishReason.LENGTH
    if not is_cut:
        rounds[-1] = msgspec.structs.replace(rounds[-1], finish_reason=reason)
    done: list[ServiceEvent] = [RoundDone(asked.job, lane, one) for one in rounds]
    return [*done, LaneFinished(asked.job, lane, reason), Finished(asked.job)]
