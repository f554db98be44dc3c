"""The forecast of a model without its weights is what a real load takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from llama_cpp import llama_cpp as api

from engine.budget.budget import KvType
from engine.errors import KvTypeUnfit
from engine.llama.breakdown import HOST, by_device
from engine.llama.context import Context, ContextSettings
from engine.llama.context_settings import context_params
from engine.llama.forecast import ModelForecast
from engine.llama.library import LlamaLibrary
from engine.llama.memory import allocated
from engine.llama.model import Model
from engine.llama.opening import use_heads

FLOAT_BYTES = 4
CONTEXTS = (256, 1024, 2048, 3000, 4096)


@pytest.mark.parametrize("kv_type", KvType)
@pytest.mark.parametrize("name", ["llama", "gemma4", "qwen35", "step35", "gpt-oss", "moe", "mla", "starter"])
def test_the_forecast_is_what_is_allocated(
    llama: LlamaLibrary, model_named: Callable[[str], Path], name: str, kv_type: KvType
) -> None:
    path = model_named(name)
    with (
        ModelForecast.open(llama, path, 0) as forecast,
        Model.open(llama, path, n_gpu_layers=0) as model,
    ):
        for n_ctx in CONTEXTS:
            settings = ContextSettings(n_ctx, n_threads=1, kv_type=kv_type)
            with forecast.context(settings, n_ctx) as before, Context(model, settings) as after:
                rows_bytes = after.max_rows * after.n_vocab * FLOAT_BYTES
                found = allocated(after)[HOST]
                assert before.memory[HOST].kv_bytes == found.kv_bytes
                assert before.memory[HOST].compute_bytes == found.compute_bytes - rows_bytes
                assert forecast.weights(before)[HOST] == pytest.approx(found.weights_bytes, rel=0.001)
                assert before.uses_flash_attention == after.uses_flash_attention


@pytest.mark.parametrize("with_flash_attention", [True, False])
def test_heads_are_foreseen_with_the_targets_kind_of_attention(with_flash_attention: bool) -> None:
    settings = ContextSettings(n_ctx=256, n_threads=1)
    params = context_params(settings, 256)
    use_heads(params, with_flash_attention=with_flash_attention)
    assert params.ctx_type == api.LLAMA_CONTEXT_TYPE_MTP
    assert params.flash_attn_type == (
        api.LLAMA_FLASH_ATTN_TYPE_ENABLED if with_flash_attention else api.LLAMA_FLASH_ATTN_TYPE_DISABLED
    )


def test_a_tied_embedding_in_main_memory_is_counted_once(llama: LlamaLibrary, tiny_models: Path) -> None:
    path = tiny_models / "gemma4.gguf"
    settings = ContextSettings(n_ctx=256, n_threads=1)
    with (
        ModelForecast.open(llama, path, 0) as forecast,
        forecast.context(settings, 256) as before,
        Model.open(llama, path, n_gpu_layers=0) as model,
        Context(model, settings) as after,
    ):
        counted_bytes = allocated(after)[HOST].weights_bytes
        assert forecast.weights(before)[HOST] == pytest.approx(counted_bytes, rel=0.001)
        assert by_device(before.buffers)[HOST].weights_bytes > forecast.weights(before)[HOST]


def test_weights_that_are_left_out_are_not_counted(llama: LlamaLibrary, tiny_models: Path) -> None:
    path = tiny_models / "step35.gguf"
    settings = ContextSettings(n_ctx=256, n_threads=1)

    def weights_bytes(*, with_mtp: bool) -> int:
        with (
            ModelForecast.open(llama, path, 0, with_mtp=with_mtp) as forecast,
            forecast.context(settings, 256) as context,
        ):
            return forecast.weights(context)[HOST]

    header_bytes = ModelForecast.open(llama, path, 0).header.tensor_bytes
    assert weights_bytes(with_mtp=False) < weights_bytes(with_mtp=True)
    assert weights_bytes(with_mtp=True) == pytest.approx(header_bytes, rel=0.001)


@pytest.mark.parametrize("n_rs_seq", [0, 3])
def test_a_running_state_is_told_apart_from_the_cache(
    llama: LlamaLibrary, tiny_models: Path, n_rs_seq: int
) -> None:
    """What llama.cpp's log calls the RS buffer, to the byte and not to a hundredth of a MiB."""
    settings = ContextSettings(n_ctx=1024, n_threads=1, n_rs_seq=n_rs_seq)
    # Three layers: (4 - 1) * (64 + 2 * 32) numbers of convolution, 32 * 64 of state.
    one_bytes = 3 * (3 * 128 + 32 * 64) * FLOAT_BYTES
    with ModelForecast.open(llama, tiny_models / "qwen35.gguf", 0) as forecast:
        assert forecast.state_bytes(settings) == {HOST: one_bytes * (1 + n_rs_seq)}
    with ModelForecast.open(llama, tiny_models / "llama.gguf", 0) as forecast:
        assert forecast.state_bytes(settings) == {}


def test_a_cache_type_that_the_heads_cannot_have_is_refused_in_words(
    llama: LlamaLibrary, written_models: Path
) -> None:
    with ModelForecast.open(llama, written_models / "odd-heads.gguf", 0) as forecast:
        with forecast.context(ContextSettings(256, n_threads=1), 256):
            pass
        with (
            pytest.raises(KvTypeUnfit, match=r"cannot be stored as q8_0: it goes in blocks of 32") as caught,
            forecast.context(ContextSettings(256, n_threads=1, kv_type=KvType.Q8_0), 256),
        ):
            pass
    assert caught.value.remedy == "Choose f16 for the cache."
