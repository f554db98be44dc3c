"""Memory: the forecast equals what is allocated, and what does not fit is refused with numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import ContextTooLarge, LoadFailed
from engine.llama.context import Context, ContextSettings
from engine.llama.fit import LoadPlan, require_fit
from engine.llama.library import LlamaLibrary
from engine.llama.memory import HOST, allocated, forecast
from engine.llama.model import Model
from engine.worker.messages import Device

SETTINGS = ContextSettings(n_threads=1)
MIB = 1 << 20


def host(free_bytes: int, kind: str = "cpu") -> tuple[Device, ...]:
    return (Device(HOST, "a computer", kind, free_bytes, free_bytes),)


@pytest.mark.parametrize("name", ["llama.gguf", "gemma4.gguf", "qwen35.gguf"])
def test_the_forecast_is_what_is_allocated(llama: LlamaLibrary, tiny_models: Path, name: str) -> None:
    path = tiny_models / name
    with forecast(llama, path, 0) as model:
        before = model.measure(SETTINGS, 2048)
    with Model.open(llama, path, n_gpu_layers=0) as loaded:
        n_vocab = loaded.n_vocab
        embedding_bytes = n_vocab * 64 * 4
        with Context(loaded, ContextSettings(n_ctx=2048, n_threads=1)) as context:
            after = allocated(context)
    assert before[HOST].kv_bytes == after[HOST].kv_bytes
    assert before[HOST].compute_bytes == after[HOST].compute_bytes + SETTINGS.max_rows * n_vocab * 4
    # Where the output layer is the embedding, it is counted twice: a GPU would get a copy of its own.
    tied_bytes = before[HOST].weights_bytes - after[HOST].weights_bytes
    assert tied_bytes in (0, embedding_bytes)


def test_a_context_larger_than_memory_is_refused_with_the_nearest_that_fits(
    llama: LlamaLibrary, starter_model: Path
) -> None:
    plan = LoadPlan(starter_model, SETTINGS)
    with pytest.raises(ContextTooLarge) as caught:
        require_fit(llama, [plan], 8192, 0, host(500 * MIB))
    assert caught.value.sentence == (
        "This context of 8,192 tokens needs 0.3 GiB, 0.2 GiB are free for it. A context of 5,888 fits."
    )
    require_fit(llama, [plan], 5888, 0, host(500 * MIB))
    with pytest.raises(ContextTooLarge):
        require_fit(llama, [plan], 5888 + 256, 0, host(500 * MIB))


def test_a_model_larger_than_memory_is_refused(llama: LlamaLibrary, starter_model: Path) -> None:
    with pytest.raises(LoadFailed, match=r"This model needs 0\.\d GiB, 0\.0 GiB are free for it\."):
        require_fit(llama, [LoadPlan(starter_model, SETTINGS)], 512, 0, host(300 * MIB))


def test_a_context_beyond_the_model_is_refused_before_anything_loads(
    llama: LlamaLibrary, starter_model: Path
) -> None:
    with pytest.raises(ContextTooLarge, match=r"at most 8,192 tokens; a context of 1,000,000"):
        require_fit(llama, [LoadPlan(starter_model, SETTINGS)], 1_000_000, 0, host(1 << 40))


def test_a_drafter_counts_as_well(llama: LlamaLibrary, starter_model: Path) -> None:
    plan = LoadPlan(starter_model, SETTINGS)
    require_fit(llama, [plan], 2048, 0, host(500 * MIB))
    with pytest.raises(ContextTooLarge):
        require_fit(llama, [plan, plan], 2048, 0, host(500 * MIB))


def test_plenty_of_memory_is_seen_without_opening_the_model(llama: LlamaLibrary, starter_model: Path) -> None:
    position = llama.log.position
    require_fit(llama, [LoadPlan(starter_model, SETTINGS)] * 2, 8192, 0, host(1 << 40))
    assert llama.log.since(position) == ()


def test_what_a_device_does_not_tell_is_taken_at_its_best(llama: LlamaLibrary, tiny_models: Path) -> None:
    require_fit(llama, [LoadPlan(tiny_models / "llama.gguf", SETTINGS)], 4096, 0, host(0, "gpu"))
