"""Budgets from the real worker, and loads that are refused, predicted and recorded by the same numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from engine.budget.budget import CONTEXT_LADDER, Budget, BudgetQuestion, KvType
from engine.budget.record import keep_record, read_records, record_path
from engine.errors import Cancelled, ContextTooLarge, LoadFailed, PairUnfit, WrongKindOfFile
from engine.llama.breakdown import HOST
from engine.llama.library import LlamaLibrary
from engine.llama.measuring import OpenForecasts
from engine.models.bundle import NGRAM_DRAFTER, NO_DRAFTER, DrafterChoice, DrafterKind
from engine.service import Service
from engine.worker.budgeting import answer_budget, foresee
from engine.worker.messages import BudgetMeasured, Device, LoadSettings, MemoryChanged
from engine.worker.pairs import require_pair
from engine.worker.plan import BundlePlan, LoadRequest, make_plan
from tests.engine.models.small_files import write_model
from tests.engine.worker.real import DRAFT_MODEL, LLAMA, MODELS, SETTINGS, Engine
from tests.gguf_patch import replace_u32

MIB = 1 << 20


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLIPSTREAM_CACHE_DIR", str(tmp_path))
    return record_path()


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    service = Service()
    yield Engine(service)
    service.stop(timeout_s=10.0)


def ask(engine: Engine, question: BudgetQuestion) -> Budget:
    job = engine.service.budget(question)
    return engine.listener.wait_for(BudgetMeasured, lambda event: event.job == job).budget


def plan_of(
    target: Path, drafter: DrafterChoice = NGRAM_DRAFTER, n_ctx: int = 8192, **settings: object
) -> BundlePlan:
    wanted = msgspec.structs.replace(LoadSettings(n_ctx=n_ctx, n_threads=1), **settings)
    return make_plan(LoadRequest(str(target), drafter, wanted))


def host(free_bytes: int) -> tuple[Device, ...]:
    return (Device(HOST, "a computer", "cpu", free_bytes, 64 << 30),)


# ------------------------------------------------------------------------------------------- in the worker


def test_the_worker_answers_budgets_and_keeps_what_is_loaded(engine: Engine) -> None:
    loaded = engine.load(drafter=DRAFT_MODEL)
    question = BudgetQuestion(LLAMA, DRAFT_MODEL, contexts=(256, 4096), kv_types=tuple(KvType))
    found = ask(engine, question)
    assert [(each.n_ctx, each.kv_type) for each in found.contexts] == [
        (n_ctx, kv_type) for kv_type in KvType for n_ctx in (256, 4096)
    ]
    assert found.devices[0].name == HOST
    assert found.n_ctx_train == 4096
    assert found.contexts[0].total_bytes > loaded.predicted_bytes[HOST]
    engine.generate()


def test_a_drafter_of_another_target_is_refused_in_words_and_costs_no_worker(engine: Engine) -> None:
    eagle3 = DrafterChoice(DrafterKind.EAGLE3, str(MODELS / "llama-eagle3.gguf"))
    gemma = str(MODELS / "gemma4.gguf")
    job = engine.service.budget(BudgetQuestion(str(MODELS / "step35.gguf"), eagle3))
    failed = engine.failure(job)
    assert failed.kind == PairUnfit.__name__
    assert failed.sentence.startswith("This drafter does not fit the target: ")
    assert ask(engine, BudgetQuestion(gemma, NO_DRAFTER, contexts=(256,))).contexts[0].fits


def test_a_budget_that_nobody_wants_any_more_ends(llama: LlamaLibrary) -> None:
    with OpenForecasts(llama) as models, pytest.raises(Cancelled):
        answer_budget(models, BudgetQuestion(LLAMA, NO_DRAFTER), lambda: True)


def test_one_that_was_cancelled_while_it_waited_opens_no_file(llama: LlamaLibrary) -> None:
    with OpenForecasts(llama) as models, pytest.raises(Cancelled):
        answer_budget(models, BudgetQuestion("no such file", NO_DRAFTER), lambda: True)


def test_one_is_stopped_between_two_contexts(llama: LlamaLibrary) -> None:
    asked = iter([False, False, True])
    with OpenForecasts(llama) as models, pytest.raises(Cancelled):
        answer_budget(models, BudgetQuestion(LLAMA, NO_DRAFTER), lambda: next(asked))


@pytest.mark.parametrize("target", ["llama", "qwen35", "step35", "gemma4"])
def test_what_a_load_takes_was_predicted(engine: Engine, target: str) -> None:
    drafter = DRAFT_MODEL if target == "llama" else NGRAM_DRAFTER
    settings = msgspec.structs.replace(SETTINGS, n_ctx=1024)
    loaded = engine.load(str(MODELS / f"{target}.gguf"), drafter, settings)
    assert loaded.predicted_bytes == pytest.approx(loaded.memory_bytes, rel=0.001)
    assert loaded.grown_bytes > 0


@pytest.mark.parametrize("target", ["llama", "qwen35"])
def test_the_second_context_of_a_race_is_told_when_it_is_made(engine: Engine, target: str) -> None:
    loaded = engine.load(
        str(MODELS / f"{target}.gguf"), settings=msgspec.structs.replace(SETTINGS, n_ctx=512)
    )
    engine.generate()
    race = engine.race()
    changed = engine.listener.wait_for(MemoryChanged, lambda event: event.job == race.job)
    assert changed.memory_bytes[HOST] > loaded.memory_bytes[HOST]
    assert changed.predicted_bytes == pytest.approx(changed.memory_bytes, rel=0.001)


@pytest.mark.parametrize("kv_type", [KvType.Q8_0, KvType.Q4_0])
def test_caches_of_a_smaller_type_are_smaller_and_answer(engine: Engine, kv_type: KvType) -> None:
    usual = engine.load(drafter=DRAFT_MODEL, settings=msgspec.structs.replace(SETTINGS, n_ctx=4096))
    smaller = engine.load(
        drafter=DRAFT_MODEL, settings=msgspec.structs.replace(SETTINGS, n_ctx=4096, kv_type=kv_type)
    )
    assert smaller.memory_bytes[HOST] < usual.memory_bytes[HOST]
    assert smaller.flash_attention
    engine.generate()


# ---------------------------------------------------------------------------------------- before a load


def test_a_context_larger_than_memory_is_refused_with_the_nearest_that_fits(
    llama: LlamaLibrary, starter_model: Path, records: Path
) -> None:
    with pytest.raises(ContextTooLarge) as caught:
        foresee(llama, plan_of(starter_model), host(500 * MIB))
    assert caught.value.sentence == (
        "This context of 8,192 tokens needs 0.3 GiB, 0.2 GiB are free for it. A context of 4,864 fits."
    )
    assert caught.value.remedy == "Choose a context of 4,864 tokens at most or q8_0 for the cache."
    foresee(llama, plan_of(starter_model, n_ctx=4864), host(500 * MIB))
    foresee(llama, plan_of(starter_model, kv_type=KvType.Q8_0), host(500 * MIB))
    with pytest.raises(ContextTooLarge):
        foresee(llama, plan_of(starter_model, n_ctx=4864 + 256), host(500 * MIB))


def test_a_model_larger_than_memory_is_refused_unless_it_is_to_be_loaded_anyway(
    llama: LlamaLibrary, starter_model: Path, records: Path
) -> None:
    with pytest.raises(LoadFailed, match=r"This model needs 0\.\d GiB, 0\.0 GiB are free for it\."):
        foresee(llama, plan_of(starter_model, n_ctx=512), host(300 * MIB))
    anyway = foresee(llama, plan_of(starter_model, n_ctx=512, check_memory=False), host(300 * MIB))
    assert anyway.use == {}


def test_what_was_loaded_anyway_is_foreseen_the_next_time(engine: Engine, tmp_path: Path) -> None:
    target = tmp_path / "anyway.gguf"
    target.write_bytes(Path(LLAMA).read_bytes())
    anyway = engine.load(target=str(target), settings=msgspec.structs.replace(SETTINGS, check_memory=False))
    assert anyway.predicted_bytes == {}
    assert not any(record.target == str(target) for record in read_records(record_path()))
    assert engine.load(target=str(target)).predicted_bytes[HOST] > 0


def test_a_drafter_counts_as_well(
    llama: LlamaLibrary, starter_model: Path, records: Path, tmp_path: Path
) -> None:
    foresee(llama, plan_of(starter_model, n_ctx=2048), host(600 * MIB))
    copy = tmp_path / "as large.gguf"
    copy.write_bytes(starter_model.read_bytes())
    second = DrafterChoice(DrafterKind.MODEL, str(copy))
    with pytest.raises(ContextTooLarge) as caught:
        foresee(llama, plan_of(starter_model, second, n_ctx=2048), host(600 * MIB))
    assert "no drafter" in caught.value.remedy


def test_the_same_load_is_foreseen_from_the_record_until_its_file_changes(
    llama: LlamaLibrary, tiny_models: Path, tmp_path: Path, records: Path
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes((tiny_models / "llama.gguf").read_bytes())
    first = foresee(llama, plan_of(path, n_ctx=1024), host(64 << 30))
    keep_record(records, first.record())
    position = llama.log.position
    again = foresee(llama, plan_of(path, n_ctx=1024), host(64 << 30))
    assert llama.log.since(position) == ()
    assert (again.key, again.use) == (first.key, first.use)
    path.write_bytes(path.read_bytes() + b"\0")
    assert foresee(llama, plan_of(path, n_ctx=1024), host(64 << 30)).key != first.key


def test_a_load_leaves_a_record_of_what_was_predicted_and_measured(engine: Engine, tmp_path: Path) -> None:
    target = tmp_path / "recorded.gguf"
    target.write_bytes(Path(LLAMA).read_bytes())
    loaded = engine.load(target=str(target))
    kept = [record for record in read_records(record_path()) if record.target == str(target)]
    assert [record.measured_bytes for record in kept] == [loaded.memory_bytes]
    assert kept[0].n_ctx == loaded.n_ctx


@pytest.mark.timeout(20)
def test_an_absurd_context_of_a_model_that_promises_it_is_refused_at_once(
    llama: LlamaLibrary, tiny_models: Path, records: Path
) -> None:
    plan = plan_of(tiny_models / "llama.gguf", n_ctx=4096)
    beyond = replace(plan, n_ctx=10**9)
    with pytest.raises(ContextTooLarge, match="A context of 4,096 fits"):
        foresee(llama, beyond, host(16 << 30))


@pytest.mark.parametrize("n_ctx_train", [2**31, 2**32 - 1])
def test_a_model_that_promises_billions_of_tokens_has_a_budget(
    llama: LlamaLibrary, tiny_models: Path, tmp_path: Path, n_ctx_train: int
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(
        replace_u32((tiny_models / "llama.gguf").read_bytes(), "llama.context_length", n_ctx_train)
    )
    with OpenForecasts(llama) as models:
        found = answer_budget(models, BudgetQuestion(str(path), NO_DRAFTER))
    assert found.n_ctx_train == n_ctx_train
    assert found.contexts[-1].n_ctx == CONTEXT_LADDER[-1]


# ----------------------------------------------------------------------------------------------- pairs


def test_a_pair_that_does_not_fit_is_refused_before_anything_is_planned() -> None:
    with pytest.raises(PairUnfit, match="publishes no hidden states"):
        plan_of(
            MODELS / "step35.gguf",
            DrafterChoice(DrafterKind.EAGLE3, str(MODELS / "llama-eagle3.gguf")),
            n_ctx=256,
        )


def test_a_file_of_another_kind_than_was_said_is_refused() -> None:
    with pytest.raises(WrongKindOfFile):
        require_pair(LLAMA, DrafterChoice(DrafterKind.DFLASH, str(MODELS / "llama-eagle3.gguf")))
    with pytest.raises(WrongKindOfFile):
        require_pair(str(MODELS / "llama-eagle3.gguf"), NO_DRAFTER)
    with pytest.raises(PairUnfit, match="no MTP head inside"):
        require_pair(LLAMA, DrafterChoice(DrafterKind.MTP))


def test_a_draft_model_that_does_not_fit_gets_no_budget(tmp_path: Path) -> None:
    other = write_model(tmp_path / "other.gguf")
    for path, reason in ((LLAMA, "the model itself"), (str(other), "vocabular")):
        with pytest.raises(PairUnfit, match=reason):
            require_pair(LLAMA, DrafterChoice(DrafterKind.MODEL, path))
    require_pair(LLAMA, DrafterChoice(DrafterKind.MODEL, str(MODELS / "llama-draft.gguf")))
