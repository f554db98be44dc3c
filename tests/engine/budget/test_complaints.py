"""What people complain about in other programs' memory estimates (docs/complaints.md), tried here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.budget.budget import BudgetQuestion, ContextBudget, KvType, Segment
from engine.budget.measures import Way
from engine.budget.reckoning import budget
from engine.cli.arguments import parse_arguments
from engine.errors import LoadFailed
from engine.llama.breakdown import HOST
from engine.llama.library import LlamaLibrary
from engine.llama.measuring import BundleForecast, OpenForecasts
from engine.models.bundle import NGRAM_DRAFTER, NO_DRAFTER, DrafterChoice, DrafterKind
from engine.models.description import Device
from engine.models.gguf_header import read_header
from engine.worker.budgeting import answer_budget, foresee
from engine.worker.messages import LoadSettings
from engine.worker.plan import LoadRequest, make_plan
from tests.engine.budget.straight import MIB, StraightMeasures, cpu, gpu

GIB = 1 << 30


@pytest.fixture
def models(llama: LlamaLibrary) -> Iterator[OpenForecasts]:
    with OpenForecasts(llama) as opened:
        yield opened


def naive_kv_bytes(path: Path, n_ctx: int) -> int:
    """Every layer, every head, all the way back: what the estimators that are complained about count."""
    header = read_header(path)
    number = {
        key: header.number(f"{header.architecture}.{key}")
        for key in ("block_count", "attention.head_count", "attention.key_length", "attention.value_length")
    }
    width = number["attention.key_length"] + number["attention.value_length"]
    return number["block_count"] * number["attention.head_count"] * width * 2 * n_ctx


@pytest.mark.parametrize(
    ("name", "share"),
    [("qwen35.gguf", 0.15), ("gemma4.gguf", 0.3), ("gpt-oss.gguf", 0.4), ("moe.gguf", 0.51)],
)
def test_caches_of_hybrid_windowed_and_expert_models_are_not_overestimated(
    models: OpenForecasts, tiny_models: Path, written_models: Path, name: str, share: float
) -> None:
    path = tiny_models / name if (tiny_models / name).exists() else written_models / name
    said = BundleForecast(models, path, NO_DRAFTER, 3, -1).use(Way(4096))[HOST]
    assert said[Segment.KV] < share * naive_kv_bytes(path, 4096)


def test_load_anyway_exists_on_the_command_line_too(starter_model: Path, llama: LlamaLibrary) -> None:
    command = ["generate", "--target", str(starter_model), "--prompt", "Hi"]
    asked, anyway = (parse_arguments([*command, *more]).run for more in ([], ["--load-anyway"]))
    assert asked is not None
    assert anyway is not None
    tiny = (Device(HOST, "a computer", "cpu", 100 * MIB, GIB),)
    with pytest.raises(LoadFailed):
        foresee(llama, make_plan(LoadRequest(str(starter_model), NGRAM_DRAFTER, asked.load)), tiny)
    foresee(llama, make_plan(LoadRequest(str(starter_model), NGRAM_DRAFTER, anyway.load)), tiny)


@pytest.mark.parametrize("name", ["llama", "gemma4", "qwen35", "step35"])
def test_an_estimate_is_never_unavailable_nor_not_a_number(
    models: OpenForecasts, tiny_models: Path, name: str
) -> None:
    question = BudgetQuestion(str(tiny_models / f"{name}.gguf"), NGRAM_DRAFTER)
    found = answer_budget(models, question)
    assert found.contexts
    assert all(each.total_bytes > 0 and each.segment_bytes(Segment.RESERVE) > 0 for each in found.contexts)


def test_thirty_gigabytes_on_a_card_of_eight_are_refused_before_loading() -> None:
    measures = StraightMeasures(n_layers=300, gpu="CUDA0")
    question = BudgetQuestion("target.gguf", NGRAM_DRAFTER, contexts=(4096,))
    found = budget(question, measures, (cpu(64_000), gpu(8192)))
    assert found.contexts[0].short_of_device == "CUDA0"
    assert found.n_gpu_layers_that_fit is not None
    assert 0 < found.n_gpu_layers_that_fit < 100


def test_there_is_one_formula_the_budget_and_the_load_agree(
    models: OpenForecasts, llama: LlamaLibrary, tiny_models: Path
) -> None:
    target, drafter = (str(tiny_models / f"{name}.gguf") for name in ("llama", "llama-draft"))
    choice = DrafterChoice(DrafterKind.MODEL, drafter)
    shown = answer_budget(models, BudgetQuestion(target, choice, contexts=(2048,))).contexts[0]
    plan = make_plan(LoadRequest(target, choice, LoadSettings(n_ctx=2048, n_threads=1)))
    foreseen = dict(foresee(llama, plan, (Device(HOST, "a computer", "cpu", 64 * GIB, 64 * GIB),)).use[HOST])
    # Nobody asked for a race.
    del foreseen[Segment.RACE]
    (use,) = shown.devices
    assert {segment: n for segment, n in use.segments.items() if segment is not Segment.RESERVE} == foreseen


def test_speed_or_context_is_the_persons_choice() -> None:
    drafter = DrafterChoice(DrafterKind.MODEL, "drafter.gguf")
    question = BudgetQuestion("target.gguf", drafter, contexts=(32768,))
    choice = budget(question, StraightMeasures(), (cpu(2500),)).speed_or_context
    assert choice is not None
    assert 0 < choice.n_ctx_with_drafter < choice.n_ctx_without_drafter


def test_an_mtp_head_is_counted_at_the_context_that_is_asked_for(
    models: OpenForecasts, tiny_models: Path
) -> None:
    head = DrafterChoice(DrafterKind.MTP)
    forecast = BundleForecast(models, tiny_models / "qwen35.gguf", head, 3, -1)
    short, long = (forecast.use(Way(n_ctx))[HOST][Segment.DRAFTER_KV] for n_ctx in (512, 4096))
    assert short > 0
    assert long == 8 * short


@pytest.mark.parametrize("kind", [DrafterKind.DFLASH, DrafterKind.DSPARK])
def test_a_block_drafter_does_not_inherit_the_targets_batch(
    models: OpenForecasts, tiny_models: Path, kind: DrafterKind
) -> None:
    choice = DrafterChoice(kind, str(tiny_models / f"llama-{kind}.gguf"))
    said = BundleForecast(models, tiny_models / "llama.gguf", choice, 3, -1).use(Way(4096))[HOST]
    assert said[Segment.DRAFTER_COMPUTE] < said[Segment.COMPUTE] / 2


def test_a_total_has_the_targets_weights_and_the_drafters(models: OpenForecasts, tiny_models: Path) -> None:
    target, drafter = (tiny_models / f"{name}.gguf" for name in ("llama", "llama-draft"))
    choice = DrafterChoice(DrafterKind.MODEL, str(drafter))
    found = answer_budget(models, BudgetQuestion(str(target), choice, contexts=(1024,)))
    both_bytes = sum(read_header(path).tensor_bytes for path in (target, drafter))
    segments = (Segment.WEIGHTS, Segment.DRAFTER_WEIGHTS)
    assert sum(map(found.contexts[0].segment_bytes, segments)) == both_bytes


def test_the_type_of_the_cache_is_not_ignored(models: OpenForecasts, tiny_models: Path) -> None:
    question = BudgetQuestion(
        str(tiny_models / "llama.gguf"), NO_DRAFTER, contexts=(4096,), kv_types=tuple(KvType)
    )
    f16, q8_0, q4_0 = (each.segment_bytes(Segment.KV) for each in answer_budget(models, question).contexts)
    assert (q8_0 * 64, q4_0 * 64) == (f16 * 34, f16 * 18)


def test_the_full_window_is_not_assumed() -> None:
    question = BudgetQuestion("target.gguf", NGRAM_DRAFTER)
    found = budget(question, StraightMeasures(n_ctx_train=262_144), (cpu(8000),))
    usable = found.at(8192)
    assert usable is not None
    assert usable.fits
    assert not found.contexts[-1].fits


def test_a_mac_says_how_much_it_has_for_the_model_and_a_little_too_much_can_be_loaded_anyway() -> None:
    metal = Device("MTL0", "Apple M2", "gpu", 11 * GIB, 11 * GIB)
    question = BudgetQuestion("target.gguf", NGRAM_DRAFTER, contexts=(4096,))
    found = budget(question, StraightMeasures(n_layers=90, gpu="MTL0"), (cpu(14_000, 16_384), metal))
    assert found.contexts[0].short_of_device == "MTL0"
    assert found.devices[1].memory_total_bytes == 11 * GIB
    assert LoadSettings(check_memory=False) != LoadSettings()


def test_the_cache_lies_where_its_layers_lie_and_is_counted_there() -> None:
    devices = (cpu(64_000), gpu(2000))

    def with_layers(n_gpu_layers: int) -> ContextBudget:
        question = BudgetQuestion("target.gguf", NGRAM_DRAFTER, contexts=(32768,), n_gpu_layers=n_gpu_layers)
        return budget(question, StraightMeasures(gpu="CUDA0"), devices).contexts[0]

    assert with_layers(-1).short_of_device == "CUDA0"
    half = with_layers(5)
    assert half.fits
    assert all(use.segments[Segment.KV] > 0 for use in half.devices)
