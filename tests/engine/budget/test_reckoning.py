"""The budget function: contexts, what fits, layers, speed or context."""

from __future__ import annotations

import pytest

from engine.budget.budget import BudgetQuestion, KvType, Segment, SpeedOrContext
from engine.budget.measures import Way
from engine.budget.reckoning import budget
from engine.models.bundle import NGRAM_DRAFTER, DrafterChoice, DrafterKind
from tests.engine.budget.straight import MIB, StraightMeasures, cpu, gpu

DRAFT_MODEL = DrafterChoice(DrafterKind.MODEL, "drafter.gguf")
ALL_TYPES = tuple(KvType)


def ask(**fields: object) -> BudgetQuestion:
    return BudgetQuestion("target.gguf", DRAFT_MODEL, **fields)  # type: ignore[arg-type]


def test_without_contexts_the_usual_ones_up_to_the_models_limit_are_told() -> None:
    found = budget(ask(), StraightMeasures(n_ctx_train=40_000), (cpu(64_000),))
    assert [each.n_ctx for each in found.contexts] == [2048, 4096, 8192, 16384, 32768, 40_000]
    assert all(each.fits for each in found.contexts)
    assert found.largest_fit == {KvType.F16: 40_000}
    assert not found.is_estimate


def test_each_cache_type_has_its_own_contexts_and_its_own_largest() -> None:
    measures = StraightMeasures()
    found = budget(ask(kv_types=ALL_TYPES), measures, (cpu(1900),))
    largest = [found.largest_fit[kv_type] for kv_type in KvType]
    assert 0 < largest[0] < largest[1] < largest[2]
    for kv_type in KvType:
        n_ctx = found.largest_fit[kv_type]
        assert n_ctx % 256 == 0
        assert budget(ask(contexts=(n_ctx,), kv_types=(kv_type,)), measures, (cpu(1900),)).contexts[0].fits
        above = budget(ask(contexts=(n_ctx + 256,), kv_types=(kv_type,)), measures, (cpu(1900),))
        assert above.contexts[0].short_of_device == "CPU"


def test_the_largest_context_takes_few_measurements() -> None:
    measures = StraightMeasures()
    budget(ask(contexts=(4096,)), measures, (cpu(2300),))
    assert len(measures.asked) <= 7


def test_a_cache_type_that_cannot_be_had_is_told_with_its_reason() -> None:
    measures = StraightMeasures(unfit=frozenset({KvType.Q8_0}))
    found = budget(ask(kv_types=ALL_TYPES, contexts=(4096,)), measures, (cpu(64_000),))
    assert found.unfit == {KvType.Q8_0: "no q8_0"}
    assert found.largest_fit[KvType.Q8_0] == 0
    assert [each.kv_type for each in found.contexts] == [KvType.F16, KvType.Q4_0]


def test_a_race_takes_a_second_context_of_the_target() -> None:
    one = budget(ask(contexts=(4096,)), StraightMeasures(), (cpu(64_000),)).contexts[0]
    two = budget(ask(contexts=(4096,), race=True), StraightMeasures(), (cpu(64_000),)).contexts[0]
    raced = sum(one.segment_bytes(segment) for segment in (Segment.KV, Segment.COMPUTE, Segment.OUTPUT))
    assert two.segment_bytes(Segment.RACE) == raced
    assert two.total_bytes == one.total_bytes + raced


def test_a_total_is_the_sum_of_what_is_shown() -> None:
    found = budget(ask(contexts=(4096,)), StraightMeasures(gpu="CUDA0"), (cpu(64_000), gpu(8000)))
    each = found.contexts[0]
    needed = sum(n for use in each.devices for n in use.segments.values())
    assert each.total_bytes == needed - each.segment_bytes(Segment.RESERVE)
    assert sum(use.needed_bytes for use in each.devices) == needed
    assert each.segment_bytes(Segment.RESERVE) == 512 * MIB


@pytest.mark.parametrize(("free_mib", "layers"), [(64_000, -1), (1000, 2), (100, 0)])
def test_as_many_layers_as_fit_are_named(free_mib: int, layers: int) -> None:
    measures = StraightMeasures(gpu="CUDA0")
    devices = (cpu(64_000), gpu(free_mib))
    found = budget(ask(contexts=(8192,)), measures, devices)
    assert found.n_gpu_layers_that_fit == layers
    assert found.n_layers == 10
    if layers > 0:
        with_these = budget(ask(contexts=(8192,), n_gpu_layers=layers), measures, devices)
        one_more = budget(ask(contexts=(8192,), n_gpu_layers=layers + 1), measures, devices)
        assert with_these.contexts[0].fits
        assert not one_more.contexts[0].fits


@pytest.mark.parametrize(("main_mib", "layers"), [(1900, 4), (900, None)])
def test_the_gpu_takes_what_main_memory_alone_could_not_hold(main_mib: int, layers: int | None) -> None:
    devices = (cpu(main_mib), gpu(1300))
    found = budget(ask(contexts=(8192,)), StraightMeasures(gpu="CUDA0"), devices)
    assert found.n_gpu_layers_that_fit == layers


def test_without_a_gpu_there_are_no_layers_to_choose() -> None:
    assert budget(ask(contexts=(8192,)), StraightMeasures(), (cpu(100),)).n_gpu_layers_that_fit == -1


def test_speed_or_context_is_left_to_the_person_with_both_numbers() -> None:
    found = budget(ask(contexts=(16384,)), StraightMeasures(), (cpu(2000),))
    choice = found.speed_or_context
    assert choice is not None
    assert choice == SpeedOrContext(16384, found.largest_fit[KvType.F16], choice.n_ctx_without_drafter)
    assert choice.n_ctx_with_drafter < 16384
    assert choice.n_ctx_without_drafter > choice.n_ctx_with_drafter


def test_there_is_nothing_to_choose_where_both_fit_or_the_drafter_weighs_nothing() -> None:
    assert budget(ask(contexts=(4096,)), StraightMeasures(), (cpu(64_000),)).speed_or_context is None
    ngram = BudgetQuestion("target.gguf", NGRAM_DRAFTER, contexts=(32768,))
    assert budget(ngram, StraightMeasures(), (cpu(2000),)).speed_or_context is None


def test_nothing_fits_is_0() -> None:
    found = budget(ask(), StraightMeasures(), (cpu(500),))
    assert found.largest_fit == {KvType.F16: 0}
    assert not any(each.fits for each in found.contexts)


def test_nothing_is_measured_twice() -> None:
    measures = StraightMeasures(gpu="CUDA0")
    budget(ask(kv_types=ALL_TYPES), measures, (cpu(3000), gpu(1500)))
    assert len(set(measures.asked)) == len(measures.asked)
    assert Way(2048) in measures.asked
