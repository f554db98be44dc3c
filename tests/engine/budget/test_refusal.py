"""What does not fit is refused with numbers and with the nearest setting that works."""

from __future__ import annotations

import pytest

from engine.budget.budget import BudgetQuestion, KvType, Segment
from engine.budget.measures import Way
from engine.budget.reckoning import budget, context_budget
from engine.budget.refusal import refusal, require_second_context
from engine.budget.room import HOST, room_of
from engine.errors import ContextTooLarge, LoadFailed, SlipstreamError
from engine.models.bundle import DrafterChoice, DrafterKind
from engine.models.description import Device
from tests.engine.budget.straight import MIB, StraightMeasures, cpu, gpu

DRAFT_MODEL = DrafterChoice(DrafterKind.MODEL, "drafter.gguf")


def refuse(n_ctx: int, *devices: Device, on_gpu: str = "") -> SlipstreamError:
    measures = StraightMeasures(gpu=on_gpu)
    question = BudgetQuestion("target.gguf", DRAFT_MODEL, contexts=(n_ctx,), kv_types=tuple(KvType))
    way = Way(n_ctx)
    wanted = context_budget(way, measures.use(way), room_of(devices), race=False)
    assert not wanted.fits
    return refusal(budget(question, measures, devices), wanted)


def test_a_context_that_is_too_long_is_told_with_the_largest_that_fits_and_other_ways() -> None:
    error = refuse(16384, cpu(2000))
    assert isinstance(error, ContextTooLarge)
    assert error.sentence == (
        "This context of 16,384 tokens needs 2.2 GiB, 1.7 GiB are free for it. A context of 6,656 fits."
    )
    assert error.remedy == "Choose a context of 6,656 tokens at most or q4_0 for the cache."
    assert "kv " in error.detail


def test_a_model_that_is_too_large_is_told_so() -> None:
    error = refuse(2048, cpu(1000))
    assert isinstance(error, LoadFailed)
    assert error.sentence == "This model needs 1.5 GiB, 0.7 GiB are free for it."
    assert error.remedy == "Close other programs, or choose a smaller model or quantisation."


def test_a_gpu_that_is_too_small_is_named_with_the_layers_that_fit_on_it() -> None:
    error = refuse(8192, cpu(64_000), gpu(1200), on_gpu="CUDA0")
    assert error.sentence.startswith("This model needs ")
    assert " on CUDA0, " in error.sentence
    assert " layers on the GPU" in error.remedy


def second(gpu_mib: int) -> dict[str, dict[Segment, int]]:
    """Return what a first context takes: weights, which a second one shares, and a cache of `gpu_mib` MiB."""
    return {
        "GPU": {Segment.WEIGHTS: 4000 * MIB, Segment.KV: gpu_mib * MIB},
        HOST: {Segment.WEIGHTS: 100 * MIB},
    }


def test_a_second_cache_needs_room_on_its_device() -> None:
    devices = (cpu(64_000), gpu(2000, "GPU"))
    require_second_context(second(1400), room_of(devices))
    with pytest.raises(ContextTooLarge, match=r"second cache of 1\.6 GiB on GPU; 1\.5 GiB are free"):
        require_second_context(second(1600), room_of(devices))


def test_a_second_cache_on_a_gpu_in_main_memory_needs_room_there() -> None:
    """It says that it has 12 GiB, but those are the processor's too, of which 1 GiB is free."""
    devices = (cpu(1024, total_mib=16_000), gpu(12_000, "GPU", "igpu"))
    require_second_context(second(400), room_of(devices))
    with pytest.raises(ContextTooLarge, match=r"second cache of 0\.6 GiB on GPU; 0\.5 GiB are free"):
        require_second_context(second(600), room_of(devices))
