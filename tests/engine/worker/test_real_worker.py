"""The real worker process with llama.cpp on small trained models: load, answer, race, cancel, bad input."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from engine.models.bundle import NGRAM_DRAFTER, NO_DRAFTER, Bundle, DrafterChoice
from engine.service import Service, WorkerLost
from engine.shelf.starter import find_starter
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
)
from tests.gguf_patch import fill_string, replace_strings, replace_u32


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    service = Service()
    yield Engine(service)
    service.stop(timeout_s=10.0)


def starter_path() -> str:
    starter = find_starter()
    if starter is None:
        pytest.skip("the starter model is not installed")
    return starter.target


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


def test_a_prompt_longer_than_the_context_is_refused_in_numbers(engine: Engine) -> None:
    engine.load()
    job = engine.service.generate(Prompt(raw="word " * 600), GREEDY_32, speculative=True)
    failed = engine.failure(job)
    assert failed.kind == "PromptTooLong"
    assert "256" in failed.sentence
    assert engine.generate()


@pytest.mark.parametrize("prompt", [Prompt(), Prompt(raw="")])
def test_an_empty_prompt_is_refused(engine: Engine, prompt: Prompt) -> None:
    engine.load()
    job = engine.service.generate(prompt, GREEDY_32, speculative=True)
    assert engine.failure(job).kind == "EmptyPrompt"


def test_a_job_without_a_model_says_so(engine: Engine) -> None:
    engine.service.unload()
    job = engine.service.generate(RAW, GREEDY_32, speculative=True)
    failed = engine.failure(job)
    assert failed.sentence == "No model is loaded."
    assert failed.remedy


def test_a_file_that_is_no_gguf_is_named(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "notes.gguf"
    path.write_text("this is no model " * 100)
    failed = engine.fail_to_load(str(path))
    assert failed.kind == "NotAModelFile"
    assert "notes.gguf" in failed.sentence


def test_a_truncated_gguf_is_recognised_before_it_loads(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "half.gguf"
    path.write_bytes(Path(LLAMA).read_bytes()[:200_000])
    assert engine.fail_to_load(str(path)).kind == "NotAModelFile"


def test_an_unknown_architecture_is_named(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "future.gguf"
    path.write_bytes(replace_strings(Path(LLAMA).read_bytes(), {"general.architecture": "xlama"}))
    failed = engine.fail_to_load(str(path))
    assert failed.kind == "UnknownArchitecture"
    assert "xlama" in failed.sentence


def test_a_drafter_of_another_vocabulary_is_refused_with_the_reason(engine: Engine) -> None:
    failed = engine.fail_to_load(starter_path(), DRAFT_MODEL)
    assert failed.kind == "PairUnfit"
    assert "tokens" in failed.sentence
    assert failed.remedy


@pytest.mark.parametrize("name", ["llama-eagle3", "llama-dflash", "mtp-qwen35", "mtp-gemma4"])
def test_a_drafter_opened_as_target_is_refused(engine: Engine, name: str) -> None:
    failed = engine.fail_to_load(str(MODELS / f"{name}.gguf"))
    assert failed.kind == "WrongKindOfFile"
    assert "drafter" in failed.sentence


def test_a_projector_opened_as_target_is_refused(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "mmproj.gguf"
    names = {"general.architecture": "clip", "general.name": "mmproj"}
    path.write_bytes(replace_strings(Path(LLAMA).read_bytes(), names))
    failed = engine.fail_to_load(str(path))
    assert failed.kind == "WrongKindOfFile"
    assert "projector" in failed.sentence


def test_a_context_beyond_the_models_limit_is_refused(engine: Engine) -> None:
    failed = engine.fail_to_load(settings=LoadSettings(n_ctx=10_000_000, n_threads=1))
    assert failed.kind == "ContextTooLarge"
    assert "10,000,000" in failed.sentence


def test_a_context_larger_than_memory_is_refused_with_one_that_fits(engine: Engine, tmp_path: Path) -> None:
    """A model that looks back far, in a sparse file: its weights are never read."""
    path = tmp_path / "far-sighted.gguf"
    original = Path(starter_path())
    with original.open("rb") as source, path.open("wb") as sparse:
        sparse.write(replace_u32(source.read(8 << 20), "llama.context_length", 100_000_000))
        sparse.truncate(original.stat().st_size)
    failed = engine.fail_to_load(str(path), settings=LoadSettings(n_ctx=10_000_000, n_threads=1))
    assert failed.kind == "ContextTooLarge"
    assert "GiB" in failed.sentence
    assert "fits" in failed.sentence


def test_a_template_that_raises_is_quoted(engine: Engine, tmp_path: Path) -> None:
    engine.load(_with_template(tmp_path, "{{ raise_exception('Roles must alternate') }}"))
    job = engine.service.generate(chat("Hello"), GREEDY_32, speculative=True)
    failed = engine.failure(job)
    assert failed.kind == "TemplateFailed"
    assert "Roles must alternate" in failed.sentence


def test_a_template_that_loops_is_stopped(engine: Engine, tmp_path: Path) -> None:
    loop = "{% for i in range(99999) %}" * 3 + "{% endfor %}" * 3
    engine.load(_with_template(tmp_path, loop))
    job = engine.service.generate(chat("Hello"), GREEDY_32, speculative=True)
    assert engine.failure(job).kind == "TemplateFailed"
    assert engine.generate()


def test_a_file_that_vanished_between_choosing_and_loading_is_missed(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "soon gone é.gguf"
    path.write_bytes(Path(LLAMA).read_bytes())
    engine.load(str(path))
    path.unlink()
    failed = engine.fail_to_load(str(path))
    assert failed.kind == "FileGone"
    assert path.name in failed.sentence


def test_a_failed_load_leaves_nothing_loaded(engine: Engine, tmp_path: Path) -> None:
    engine.load()
    engine.fail_to_load(str(tmp_path / "nowhere.gguf"))
    job = engine.service.generate(RAW, GREEDY_32, speculative=True)
    assert engine.failure(job).sentence == "No model is loaded."


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


def _with_template(folder: Path, template: str) -> str:
    path = folder / "templated.gguf"
    path.write_bytes(fill_string(Path(LLAMA).read_bytes(), "tokenizer.chat_template", template))
    return str(path)


def test_settings_are_not_shared_between_loads(engine: Engine) -> None:
    assert engine.load().n_ctx == SETTINGS.n_ctx
    assert engine.load(settings=LoadSettings(n_ctx=512, n_threads=1)).n_ctx == 512
