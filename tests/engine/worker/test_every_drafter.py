"""Every kind of drafter through the real worker: loaded, raced against its target, asked again, unloaded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.models.bundle import DrafterChoice, DrafterKind
from engine.service import Service
from engine.speculation.round import DraftSource
from engine.speculation.settings import GenerationSettings, SamplingSettings
from engine.worker.messages import PLAIN_LANE, SPECULATIVE_LANE, Prompt, Ready
from tests.engine.worker.real import MODELS, RAW, Engine

# target, drafter's file ("" inside), kind, what its rounds say
EVERY_KIND = [
    ("llama", "llama-draft", DrafterKind.MODEL, DraftSource.DRAFT_MODEL),
    ("llama", "llama-eagle3", DrafterKind.EAGLE3, DraftSource.EAGLE3),
    ("llama", "llama-eagle3-d2t", DrafterKind.EAGLE3, DraftSource.EAGLE3),
    ("llama", "llama-dflash", DrafterKind.DFLASH, DraftSource.DFLASH),
    ("llama", "llama-dspark", DrafterKind.DSPARK, DraftSource.DSPARK),
    ("qwen35", "", DrafterKind.MTP, DraftSource.MTP),
    ("qwen35-nomtp", "mtp-qwen35", DrafterKind.MTP, DraftSource.MTP),
    ("qwen35", "qwen35-eagle3", DrafterKind.EAGLE3, DraftSource.EAGLE3),
    ("qwen35", "qwen35-dflash", DrafterKind.DFLASH, DraftSource.DFLASH),
    ("step35", "", DrafterKind.MTP, DraftSource.MTP),
    ("gemma4", "mtp-gemma4", DrafterKind.MTP, DraftSource.MTP),
]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    service = Service()
    yield Engine(service)
    service.stop(timeout_s=10.0)


def choice(drafter: str, kind: DrafterKind, *, with_ngram: bool = False) -> DrafterChoice:
    return DrafterChoice(kind, str(MODELS / f"{drafter}.gguf") if drafter else "", with_ngram)


def sources(engine: Engine, job: int) -> set[DraftSource]:
    return {done.source for done in engine.rounds(job, SPECULATIVE_LANE)} - {DraftSource.NONE}


def counts(engine: Engine, job: int) -> list[tuple[int, int]]:
    return [(len(done.drafted), done.accepted) for done in engine.rounds(job, SPECULATIVE_LANE)]


@pytest.mark.parametrize(("target", "drafter", "kind", "source"), EVERY_KIND)
def test_it_drafts_and_changes_no_token(
    engine: Engine, target: str, drafter: str, kind: DrafterKind, source: DraftSource
) -> None:
    loaded = engine.load(str(MODELS / f"{target}.gguf"), choice(drafter, kind))
    assert (loaded.drafter is not None) == bool(drafter)
    finished = engine.race()
    plain, drafted = (engine.tokens(finished.job, lane) for lane in (PLAIN_LANE, SPECULATIVE_LANE))
    assert plain == drafted
    assert finished.first_difference is None
    assert sources(engine, finished.job) == {source}
    assert counts(engine, engine.race().job) == counts(engine, finished.job), (
        "something was left of the first race"
    )


def test_the_next_turn_goes_on_where_the_last_one_ended(engine: Engine) -> None:
    engine.load(str(MODELS / "qwen35.gguf"), choice("", DrafterKind.MTP))
    first = engine.generate()
    longer = Prompt(raw=RAW.raw + engine.text(first, SPECULATIVE_LANE) + "\nclass")
    second = engine.generate(longer)
    evaluated = sum(done.n_prompt for done in engine.rounds(second, SPECULATIVE_LANE))
    assert evaluated < engine.started(second).n_prompt_tokens - engine.started(first).n_prompt_tokens + 3


def test_n_gram_lookup_runs_beside_a_head(engine: Engine) -> None:
    engine.load(str(MODELS / "qwen35.gguf"), choice("", DrafterKind.MTP, with_ngram=True))
    job = engine.generate(settings=GenerationSettings(max_tokens=120, draft_length=4))
    assert sources(engine, job) == {DraftSource.NGRAM, DraftSource.MTP}
    assert engine.tokens(job, SPECULATIVE_LANE) == engine.tokens(
        engine.generate(settings=GenerationSettings(max_tokens=120), speculative=False), PLAIN_LANE
    )


@pytest.mark.parametrize(("target", "drafter", "kind", "source"), EVERY_KIND[1::3])
def test_a_seed_gives_the_same_text_again(
    engine: Engine, target: str, drafter: str, kind: DrafterKind, source: DraftSource
) -> None:
    engine.load(str(MODELS / f"{target}.gguf"), choice(drafter, kind))
    settings = GenerationSettings(SamplingSettings(temperature=0.9, seed=5), max_tokens=32)
    jobs = [engine.service.generate(RAW, settings, speculative=True, fresh=True) for _ in range(2)]
    for job in jobs:
        engine.finished(job)
    assert engine.tokens(jobs[0], SPECULATIVE_LANE) == engine.tokens(jobs[1], SPECULATIVE_LANE)


def test_the_worker_says_what_it_can_draft_with(engine: Engine) -> None:
    engine.load()
    (ready,) = engine.listener.of(Ready)
    assert {capability.kind for capability in ready.drafters} == set(DrafterKind)
    assert all(capability.can_run for capability in ready.drafters)
