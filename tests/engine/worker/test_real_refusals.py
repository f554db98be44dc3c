"""The real worker process with llama.cpp: what it refuses, in a sentence and with the worker alive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.service import Service
from engine.worker.messages import LoadSettings, Prompt
from tests.engine.worker.real import DRAFT_MODEL, GREEDY_32, LLAMA, MODELS, RAW, Engine, chat, starter_path
from tests.gguf_patch import fill_string, replace_strings, replace_u32


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    service = Service()
    yield Engine(service)
    service.stop(timeout_s=10.0)


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


def _with_template(folder: Path, template: str) -> str:
    path = folder / "templated.gguf"
    path.write_bytes(fill_string(Path(LLAMA).read_bytes(), "tokenizer.chat_template", template))
    return str(path)
