"""The real worker process with llama.cpp on small trained models: load, answer, race, cancel."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import psutil
import pytest

from engine.models.bundle import NGRAM_DRAFTER, NO_DRAFTER, Bundle, DrafterChoice
from engine.service import Service, WorkerLost
from engine.speculation.round import DraftSource, FinishReason
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import (
    PLAIN_LANE,
    SPECULATIVE_LANE,
    DevicesListed,
    LaneFinished,
    Loaded,
    LoadProgress,
    LoadSettings,
    Prompt,
    Ready,
    RoundDone,
)
from tests.engine.worker.real import (
    DRAFT_MODEL,
    GREEDY_32,
    LLAMA,
    MODELS,
    RAW,
    SETTINGS,
    Engine,
    chat,
    sampled,
    starter_path,
)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    service = Service()
    yield Engine(service)
    service.stop(timeout_s=10.0)


def test_loading_says_what_was_loaded(engine: Engine) -> None:
    loaded = engine.load(drafter=DRAFT_MODEL)
    assert loaded.target.path == LLAMA
    assert loaded.target.architecture == "llama"
    assert loaded.target.n_params > 0
    assert loaded.target.has_chat_template
    assert loaded.drafter is not None
    assert loaded.drafter.path == DRAFT_MODEL.path
    assert loaded.n_ctx == 256
    assert loaded.n_threads == 1
    assert loaded.devices
    assert sum(loaded.memory_bytes.values()) > loaded.target.file_bytes // 2
    progress = [event for event in engine.listener.of(LoadProgress) if event.job == loaded.job]
    assert {event.what for event in progress} == {"target", "drafter"}
    assert progress[-1].fraction == 1.0


def test_loading_the_same_again_reuses_what_is_there(engine: Engine) -> None:
    first = engine.load()
    again = engine.load()
    assert [event for event in engine.listener.of(LoadProgress) if event.job == again.job] == []
    assert again.load_s == first.load_s


@pytest.mark.parametrize("target", ["llama", "gemma4", "qwen35"])
@pytest.mark.parametrize("drafter", [NGRAM_DRAFTER, DRAFT_MODEL], ids=["ngram", "draft-model"])
def test_greedy_lanes_of_a_race_agree(engine: Engine, target: str, drafter: DrafterChoice) -> None:
    engine.load(str(MODELS / f"{target}.gguf"), drafter)
    finished = engine.race()
    lanes = [engine.tokens(finished.job, lane) for lane in (PLAIN_LANE, SPECULATIVE_LANE)]
    assert len(lanes[0]) > 1
    assert lanes[0] == lanes[1]
    assert finished.first_difference is None
    assert sum(len(done.drafted) for done in engine.rounds(finished.job, SPECULATIVE_LANE)) > 0
    assert all(not done.drafted for done in engine.rounds(finished.job, PLAIN_LANE))


def test_a_race_starts_from_empty_caches_and_ends_both_lanes(engine: Engine) -> None:
    engine.load()
    first, second = engine.race(), engine.race()
    for job in (first.job, second.job):
        n_prompt = engine.started(job).n_prompt_tokens
        assert engine.started(job).n_reused == 0
        for lane in (PLAIN_LANE, SPECULATIVE_LANE):
            assert sum(done.n_prompt for done in engine.rounds(job, lane)) == n_prompt
        ends = [event for event in engine.listener.of(LaneFinished) if event.job == job]
        assert {event.lane for event in ends} == {PLAIN_LANE, SPECULATIVE_LANE}


def test_the_next_turn_of_a_conversation_evaluates_only_what_is_new(engine: Engine) -> None:
    engine.load(drafter=NO_DRAFTER)
    first = engine.generate()
    longer = Prompt(raw=RAW.raw + engine.text(first, SPECULATIVE_LANE) + "\nclass")
    second = engine.generate(longer)
    started = engine.started(second)
    assert started.n_reused >= engine.started(first).n_prompt_tokens
    evaluated = sum(done.n_prompt for done in engine.rounds(second, SPECULATIVE_LANE))
    assert evaluated == started.n_prompt_tokens - started.n_reused


def test_speculation_can_be_left_out_of_an_answer(engine: Engine) -> None:
    engine.load(drafter=DRAFT_MODEL)
    plain, drafted = engine.generate(speculative=False), engine.generate()
    assert engine.tokens(plain, PLAIN_LANE) == engine.tokens(drafted, SPECULATIVE_LANE)
    sources = {done.source for done in engine.rounds(drafted, SPECULATIVE_LANE)}
    assert DraftSource.DRAFT_MODEL in sources
    assert {done.source for done in engine.rounds(plain, PLAIN_LANE)} == {DraftSource.NONE}


def test_a_seed_is_drawn_told_and_gives_the_same_text_again(engine: Engine) -> None:
    engine.load()
    drawn = engine.generate(settings=sampled(None))
    again = engine.generate(settings=sampled(engine.started(drawn).seed))
    assert engine.tokens(drawn, SPECULATIVE_LANE) == engine.tokens(again, SPECULATIVE_LANE)
    assert len(engine.tokens(drawn, SPECULATIVE_LANE)) > 1


def test_messages_go_through_the_models_template(engine: Engine) -> None:
    engine.load()
    raw, templated = engine.generate(Prompt(raw="Hello")), engine.generate(chat("Hello"))
    assert engine.started(templated).n_prompt_tokens > engine.started(raw).n_prompt_tokens


def test_devices_are_listed_with_the_version(engine: Engine) -> None:
    job = engine.service.list_devices()
    listed = engine.listener.wait_for(DevicesListed, lambda event: event.job == job)
    assert "cpu" in {device.kind for device in listed.devices}
    assert listed.llama_cpp_version


def test_a_cancelled_race_keeps_its_rounds_and_the_next_one_works(engine: Engine) -> None:
    engine.load(settings=LoadSettings(n_ctx=4096, n_threads=1))
    job = engine.service.race(RAW, GenerationSettings(max_tokens=4000))
    engine.listener.wait_for(RoundDone, lambda event: event.job == job and not event.round.is_prompt_pass)
    engine.service.cancel(job)
    engine.finished(job)
    reasons = [event.reason for event in engine.listener.of(LaneFinished) if event.job == job]
    assert reasons == [FinishReason.CANCELLED] * 2
    assert engine.tokens(job, PLAIN_LANE)
    assert engine.race().first_difference is None


def test_a_race_cancelled_before_it_starts_ends_like_any_other(engine: Engine) -> None:
    engine.load(settings=LoadSettings(n_ctx=2048, n_threads=1))
    running = engine.service.generate(RAW, GenerationSettings(max_tokens=1500), speculative=True)
    engine.listener.wait_for(RoundDone, lambda event: event.job == running)
    first = engine.service.race(RAW, GREEDY_32)
    engine.service.cancel(first)
    engine.service.cancel(running)
    assert engine.finished(first).first_difference is None
    ends = [(event.lane, event.reason) for event in engine.listener.of(LaneFinished) if event.job == first]
    assert ends == [(lane, FinishReason.CANCELLED) for lane in (PLAIN_LANE, SPECULATIVE_LANE)]
    assert engine.started(first).n_reused == 0
    second = engine.race()
    assert engine.tokens(second.job, PLAIN_LANE) == engine.tokens(second.job, SPECULATIVE_LANE) != []


def test_a_load_can_be_cancelled(engine: Engine) -> None:
    job = engine.service.load(Bundle("starter", starter_path()), LoadSettings(n_threads=1))
    engine.service.cancel(job)
    assert engine.failure(job).kind == "Cancelled"
    assert engine.load().target.path == LLAMA


def test_a_cancelled_load_of_what_is_loaded_is_cancelled_too(engine: Engine) -> None:
    engine.load(settings=LoadSettings(n_ctx=4096, n_threads=1))
    running = engine.service.race(RAW, GenerationSettings(max_tokens=400))
    job = engine.service.load(Bundle("test", LLAMA), LoadSettings(n_ctx=4096, n_threads=1))
    engine.service.cancel(job)
    engine.service.cancel(running)
    assert engine.failure(job).kind == "Cancelled"


def test_killed_at_random_moments_of_a_race_it_comes_back_every_time(engine: Engine) -> None:
    engine.load(drafter=DRAFT_MODEL, settings=LoadSettings(n_ctx=4096, n_threads=1))
    for i in range(6):
        after = engine.listener.mark()
        job = engine.service.race(RAW, GenerationSettings(max_tokens=4000))
        time.sleep(0.037 * i)
        os.kill(engine.listener.of(Ready)[-1].pid, signal.SIGKILL)
        assert engine.listener.wait_for(WorkerLost, after=after).sentence
        engine.listener.wait_for(Loaded, after=after)
        # A job that had not reached the dead worker yet goes to the next one.
        engine.service.cancel(job)
        assert engine.listener.wait_for_end(job)
    assert engine.race().first_difference is None
    assert len(psutil.Process().children()) == 2  # the worker and multiprocessing's resource tracker


def test_settings_are_not_shared_between_loads(engine: Engine) -> None:
    assert engine.load().n_ctx == SETTINGS.n_ctx
    assert engine.load(settings=LoadSettings(n_ctx=512, n_threads=1)).n_ctx == 512
