"""A service over the real worker with small trained models, as tests ask it."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.chat.messages import ChatMessage, Role
from engine.models.bundle import NGRAM_DRAFTER, Bundle, DrafterChoice, DrafterKind
from engine.service import Service
from engine.shelf.starter import find_starter
from engine.speculation.round import Round
from engine.speculation.settings import GenerationSettings, SamplingSettings
from engine.worker.messages import (
    Failed,
    Finished,
    LaneFinished,
    Loaded,
    LoadSettings,
    Prompt,
    RoundDone,
    Started,
)
from tests.engine.worker.listener import Listener

MODELS = Path(__file__).parents[2] / "models"
LLAMA = str(MODELS / "llama.gguf")
DRAFT_MODEL = DrafterChoice(DrafterKind.MODEL, str(MODELS / "llama-draft.gguf"))
# One thread: the tests share the machine, and a barrier between two waits for whoever is not running.
SETTINGS = LoadSettings(n_ctx=256, n_threads=1)
RAW = Prompt(raw="def read(path):\n    return path.read()\n\ndef write(path):\n    return")
GREEDY_32 = GenerationSettings(max_tokens=32, draft_length=3)


def starter_path() -> str:
    """Return the file of the starter model; skips the test where it is not installed."""
    starter = find_starter()
    if starter is None:
        pytest.skip("the starter model is not installed")
    return starter.target


def chat(text: str) -> Prompt:
    return Prompt(messages=(ChatMessage(Role.USER, text),))


def sampled(seed: int | None) -> GenerationSettings:
    return GenerationSettings(SamplingSettings(temperature=1.0, seed=seed), max_tokens=24, draft_length=3)


class Engine:
    """Asks for a job and waits for its end."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.listener = Listener()
        service.start(self.listener)

    def load(
        self, target: str = LLAMA, drafter: DrafterChoice = NGRAM_DRAFTER, settings: LoadSettings = SETTINGS
    ) -> Loaded:
        job = self.service.load(Bundle("test", target, drafter), settings)
        return self.listener.wait_for(Loaded, lambda event: event.job == job)

    def fail_to_load(
        self, target: str = LLAMA, drafter: DrafterChoice = NGRAM_DRAFTER, settings: LoadSettings = SETTINGS
    ) -> Failed:
        job = self.service.load(Bundle("test", target, drafter), settings)
        return self.failure(job)

    def generate(
        self, prompt: Prompt = RAW, settings: GenerationSettings = GREEDY_32, *, speculative: bool = True
    ) -> int:
        """Return the job's id when it has finished."""
        job = self.service.generate(prompt, settings, speculative=speculative)
        self.finished(job)
        return job

    def race(self, prompt: Prompt = RAW, settings: GenerationSettings = GREEDY_32) -> Finished:
        return self.finished(self.service.race(prompt, settings))

    def finished(self, job: int) -> Finished:
        return self.listener.wait_for(Finished, lambda event: event.job == job)

    def failure(self, job: int) -> Failed:
        return self.listener.wait_for(Failed, lambda event: event.job == job)

    def started(self, job: int) -> Started:
        return next(event for event in self.listener.of(Started) if event.job == job)

    def rounds(self, job: int, lane: int) -> list[Round]:
        return [
            event.round for event in self.listener.of(RoundDone) if (event.job, event.lane) == (job, lane)
        ]

    def tokens(self, job: int, lane: int) -> list[int]:
        return [token for done in self.rounds(job, lane) for token in done.tokens]

    def text(self, job: int, lane: int) -> str:
        return "".join(done.text for done in self.rounds(job, lane)) + "".join(
            event.tail for event in self.listener.of(LaneFinished) if (event.job, event.lane) == (job, lane)
        )
