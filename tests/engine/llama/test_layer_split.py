"""Layers on several GPUs are measured as they will lie, not as they would with what is free at the moment."""

from __future__ import annotations

from pathlib import Path

from engine.llama.layer_split import layer_split, tensor_split
from engine.llama.library import LlamaLibrary
from engine.llama.measuring import OpenForecasts
from tests.engine.budget.straight import cpu, gpu


def test_each_gpu_gets_layers_by_what_is_free_on_it() -> None:
    assert layer_split((gpu(3000), gpu(1000, "CUDA1"), cpu(64_000))) == (768, 256)


def test_one_gpu_or_none_needs_no_split() -> None:
    assert layer_split((cpu(64_000),)) == ()
    assert layer_split((gpu(3000), cpu(64_000))) == ()


def test_gpus_over_the_network_come_first_and_one_in_the_processor_only_without_a_card() -> None:
    devices = (gpu(1000), gpu(3000, "RPC0"), gpu(9000, "Vulkan1", "igpu"), cpu(64_000))
    assert layer_split(devices) == (768, 256)
    assert layer_split(devices[1:]) == (256, 768)


def test_gpus_of_which_one_does_not_say_what_is_free_are_left_to_llama_cpp() -> None:
    assert layer_split((gpu(0), gpu(1000, "CUDA1"))) == ()


def test_two_back_ends_may_see_the_same_gpu() -> None:
    assert layer_split((gpu(3000), gpu(3000, "Vulkan0"), cpu(64_000))) == ()


def test_a_split_is_as_long_as_llama_cpp_reads() -> None:
    shares = tensor_split((768, 256))
    assert list(shares[:3]) == [768.0, 256.0, 0.0]
    assert tensor_split(()) is None


def test_a_model_is_opened_again_when_the_layers_would_lie_elsewhere(
    llama: LlamaLibrary, tiny_models: Path
) -> None:
    path = tiny_models / "llama.gguf"
    with OpenForecasts(llama) as models:
        first = models.model(path, -1, split=(768, 256))
        assert models.model(path, -1, split=(768, 256)) is first
        assert models.model(path, -1, split=(512, 512)) is not first
        assert models.model(path, 0, split=(768, 256)) is models.model(path, 0)
