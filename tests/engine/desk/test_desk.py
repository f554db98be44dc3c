"""The whole facade: a real server that speaks the Hub's API, real downloads, llama.cpp in a process of its own."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path

import msgspec
import pytest

from engine.budget.budget import KvType
from engine.desk.desk import ModelsDesk
from engine.download.progress import DownloadState
from engine.hub.listing import HubQuery, HubRepo
from engine.hub.token import read_token
from engine.models.bundle import NGRAM_DRAFTER, Bundle, DrafterChoice, DrafterKind
from engine.models.remote import RemoteBundle
from engine.models_events import (
    BudgetMade,
    ConnectionChanged,
    DownloadChanged,
    DraftersSuggested,
    FoldersChanged,
    HubRepoOpened,
    HubSearched,
    ModelRemoved,
    ModelVerified,
    Offer,
    OffersListed,
    TokenChecked,
)
from engine.models_service import BudgetRequest
from engine.recommend.advice import Fit
from engine.service import Service
from engine.shelf.installed_model import Place
from engine.worker.child import WorkerChild
from tests.engine.desk.conftest import TINY_MODELS, OpenDesk
from tests.engine.desk.visitor import Visitor
from tests.engine.worker.pretend import run_broken_worker
from tests.hub_server.faults import Fault, FaultKind
from tests.hub_server.server import HubServer

CONTEXTS = (256, 1024)


def opened(visitor: Visitor, repo: str) -> HubRepo:
    return visitor.answer(HubRepoOpened, visitor.desk.open_repo(repo)).repo


def tiny_bundle(visitor: Visitor, repo: str) -> RemoteBundle:
    """Return the repository's target with the drafter that fits."""
    page = opened(visitor, repo)
    quantisation = page.quantisations[0]
    judged = visitor.answer(HubRepoOpened, visitor.desk.judge_drafters(page, quantisation)).repo
    eagle = next(option for option in judged.drafters if option.kind is DrafterKind.EAGLE3)
    assert eagle.reason == ""
    return judged.bundle(quantisation, eagle)


def offers(visitor: Visitor) -> dict[str, Offer]:
    listed = visitor.answer(OffersListed, visitor.desk.list_offers())
    return {offer.id: offer for offer in listed.offers}


def test_the_catalogue_is_offered_with_advice_and_without_the_hub(
    open_desk: OpenDesk, hub: HubServer
) -> None:
    found = offers(open_desk())
    assert len(found) > 30
    assert all(offer.advice.id == offer.id and offer.name for offer in found.values())
    assert found["smollm2-1.7b"].advice.fit in (Fit.FITS, Fit.TIGHT)
    assert found["smollm2-1.7b"].advice.total_bytes > 1_000_000_000
    ranks = [offer.advice.rank for offer in found.values()]
    n_recommended = sum(1 for rank in ranks if rank)
    assert ranks == [*range(1, n_recommended + 1), *[0] * (len(ranks) - n_recommended)]
    assert hub.log == ()


def test_models_of_a_folder_are_offered_after_it_was_added(open_desk: OpenDesk, folders: Path) -> None:
    mine = folders / "mine"
    mine.mkdir()
    shutil.copy(TINY_MODELS / "llama.gguf", mine / "mine.gguf")
    visitor = open_desk()
    changed = visitor.answer(FoldersChanged, visitor.desk.add_folder(str(mine)))
    assert changed.folders == (str(mine),)
    places = [offer.installed.place for offer in offers(visitor).values() if offer.installed is not None]
    assert Place.FOLDER in places
    changed = visitor.answer(FoldersChanged, visitor.desk.remove_folder(str(mine)))
    assert changed.folders == ()


def test_files_that_cannot_be_read_are_told_with_the_reason(open_desk: OpenDesk, folders: Path) -> None:
    mine = folders / "mine"
    mine.mkdir()
    (mine / "broken.gguf").write_bytes((TINY_MODELS / "llama.gguf").read_bytes()[:5000])
    visitor = open_desk()
    visitor.answer(FoldersChanged, visitor.desk.add_folder(str(mine)))
    listed = visitor.answer(OffersListed, visitor.desk.list_offers())
    assert [Path(one.path).name for one in listed.unreadable] == ["broken.gguf"]
    assert "cut short" in listed.unreadable[0].sentence


def test_everything_here_that_might_draft_is_suggested_or_has_its_reason(
    open_desk: OpenDesk, folders: Path
) -> None:
    mine = folders / "mine"
    mine.mkdir()
    for name in ("llama", "llama-draft", "llama-eagle3", "mtp-qwen35"):
        shutil.copy(TINY_MODELS / f"{name}.gguf", mine)
    visitor = open_desk()
    visitor.answer(FoldersChanged, visitor.desk.add_folder(str(mine)))
    target = str(mine / "llama.gguf")
    suggested = visitor.answer(DraftersSuggested, visitor.desk.suggest_drafters(target))
    found = {one.name: one for one in suggested.drafters}
    assert found["llama-draft"].reason == found["llama-eagle3"].reason == found["n-gram"].reason == ""
    assert found["llama-draft"].choice == DrafterChoice(DrafterKind.MODEL, str(mine / "llama-draft.gguf"))
    assert found["mtp-qwen35"].reason
    order = [one.name for one in suggested.drafters]
    assert order.index("llama-draft") < order.index("n-gram") < order.index("mtp-qwen35")


def test_the_hub_is_searched(open_desk: OpenDesk, tiny: str) -> None:
    visitor = open_desk()
    found = visitor.answer(HubSearched, visitor.desk.search(HubQuery("tiny")))
    assert [model.repo for model in found.page.models] == [tiny]


def test_drafters_of_a_repository_are_judged_by_their_headers(open_desk: OpenDesk, tiny: str) -> None:
    visitor = open_desk()
    page = opened(visitor, tiny)
    judged = visitor.answer(HubRepoOpened, visitor.desk.judge_drafters(page, page.quantisations[0])).repo
    reasons = {option.kind: option.reason for option in judged.drafters}
    assert reasons[DrafterKind.EAGLE3] == ""
    assert reasons[DrafterKind.NGRAM] == ""
    assert reasons[DrafterKind.MTP]


def test_being_offline_is_a_state_that_ends(
    open_desk: OpenDesk, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = open_desk()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    failed = visitor.failure(visitor.desk.search(HubQuery("tiny")))
    assert failed.kind == "Offline"
    visitor.wait(ConnectionChanged, lambda event: not event.is_online)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    visitor.answer(HubSearched, visitor.desk.search(HubQuery("tiny")))
    visitor.wait(ConnectionChanged, lambda event: event.is_online)


def test_a_budget_from_afar_is_that_of_the_file(open_desk: OpenDesk, hub: HubServer, tiny: str) -> None:
    visitor = open_desk()
    remote = tiny_bundle(visitor, tiny)
    size_bytes = sum((TINY_MODELS / name).stat().st_size for name in ("llama.gguf", "llama-eagle3.gguf"))
    here = Bundle(
        "tiny",
        str(TINY_MODELS / "llama.gguf"),
        DrafterChoice(DrafterKind.EAGLE3, str(TINY_MODELS / "llama-eagle3.gguf")),
    )
    kv_types = (KvType.F16, KvType.Q8_0)
    from_afar, from_file = (
        visitor.answer(BudgetMade, visitor.desk.budget(request)).budget
        for request in (
            BudgetRequest(remote=remote, contexts=CONTEXTS, kv_types=kv_types, race=True),
            BudgetRequest(bundle=here, contexts=CONTEXTS, kv_types=kv_types, race=True),
        )
    )
    assert from_afar.contexts == from_file.contexts
    assert [(one.kv_type, one.n_ctx) for one in from_file.contexts] == [
        (kv_type, n_ctx) for kv_type in kv_types for n_ctx in CONTEXTS
    ]
    assert remote.size_bytes == size_bytes


def test_a_budget_of_the_catalogue_is_estimated_where_no_header_can_be_had(
    open_desk: OpenDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    visitor = open_desk()
    bundle = offers(visitor)["gemma-4-e4b"].remote
    assert bundle is not None
    budget = visitor.answer(
        BudgetMade, visitor.desk.budget(BudgetRequest(remote=bundle, contexts=(8192,)))
    ).budget
    assert budget.is_estimate
    whole = budget.contexts[0].total_bytes
    assert whole > bundle.size_bytes
    without = msgspec.structs.replace(bundle, drafter_kind=DrafterKind.NGRAM, drafter=())
    request = BudgetRequest(remote=without, contexts=(8192,))
    assert visitor.answer(BudgetMade, visitor.desk.budget(request)).budget.contexts[0].total_bytes < whole
    visitor.wait(ConnectionChanged, lambda event: not event.is_online)


def test_a_file_that_is_no_model_gets_a_sentence(open_desk: OpenDesk, tmp_path: Path) -> None:
    path = tmp_path / "no-model.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    visitor = open_desk()
    request = BudgetRequest(bundle=Bundle("x", str(path), NGRAM_DRAFTER), contexts=CONTEXTS)
    failed = visitor.failure(visitor.desk.budget(request))
    assert failed.kind == "NotAModelFile"
    assert "no-model.gguf" in failed.sentence


def test_a_bundle_arrives_is_verified_and_is_removed(open_desk: OpenDesk, tiny: str) -> None:
    visitor = open_desk()
    bundle = tiny_bundle(visitor, tiny)
    visitor.desk.download(bundle)
    done = visitor.downloaded(bundle.id)
    assert done.fraction == 1.0
    offer = next(one for one in offers(visitor).values() if one.installed and one.installed.can_remove)
    installed = offer.installed
    assert installed is not None
    assert installed.bundle.drafter.kind is DrafterKind.EAGLE3
    assert installed.remote_id == bundle.id
    assert visitor.answer(ModelVerified, visitor.desk.verify(installed.id)).sentence == ""
    Path(installed.bundle.target).write_bytes(b"changed")
    assert visitor.answer(ModelVerified, visitor.desk.verify(installed.id)).sentence
    removed = visitor.answer(ModelRemoved, visitor.desk.remove(installed.id))
    assert removed.freed_bytes > 0
    assert not Path(installed.bundle.target).exists()
    assert not any(one.installed and one.installed.can_remove for one in offers(visitor).values())


def test_a_running_download_goes_on_at_the_next_start_and_a_paused_one_stays_paused(
    open_desk: OpenDesk, hub: HubServer, tiny: str
) -> None:
    visitor = open_desk()
    bundle = tiny_bundle(visitor, tiny)
    hub.faults.add(Fault(FaultKind.STALLED, path="*.gguf", after_bytes=1000, times=100))
    visitor.desk.download(bundle)
    visitor.downloaded(bundle.id, DownloadState.RUNNING)
    again = open_desk()
    again.downloaded(bundle.id, DownloadState.RUNNING)
    again.desk.pause(bundle.id)
    again.downloaded(bundle.id, DownloadState.PAUSED)
    hub.faults.clear()
    third = open_desk()
    third.downloaded(bundle.id, DownloadState.PAUSED)
    offers(third)
    assert not any(
        isinstance(event, DownloadChanged) and event.progress.state is DownloadState.RUNNING
        for event in third.events
    )
    third.desk.resume(bundle.id)
    third.downloaded(bundle.id)


def test_a_token_is_kept_and_its_owner_is_told(open_desk: OpenDesk, hub: HubServer) -> None:
    hub.users["hf_secretsecret"] = "ada"
    visitor = open_desk()
    assert visitor.answer(TokenChecked, visitor.desk.set_token("hf_secretsecret")).user == "ada"
    assert visitor.answer(TokenChecked, visitor.desk.set_token("")).user == ""


def test_a_token_that_the_hub_refuses_does_not_replace_the_one_there_is(
    open_desk: OpenDesk, hub: HubServer
) -> None:
    hub.users["hf_secretsecret"] = "ada"
    visitor = open_desk()
    visitor.answer(TokenChecked, visitor.desk.set_token("hf_secretsecret"))
    assert visitor.failure(visitor.desk.set_token("hf_mistypedmistyped")).kind == "TokenRefused"
    assert read_token() == "hf_secretsecret"


def test_a_hub_that_hangs_keeps_nobody_from_what_is_here(open_desk: OpenDesk, hub: HubServer) -> None:
    hub.api_faults.add(Fault(FaultKind.STALLED, path="/api/models*", times=-1))
    visitor = open_desk()
    searches = [visitor.desk.search(HubQuery(str(n))) for n in range(12)]
    assert len(offers(visitor)) > 30
    for job in searches:
        visitor.desk.cancel(job)
        assert visitor.failure(job).kind == "Cancelled"


def test_the_list_does_not_need_llama_cpp(folders: Path) -> None:
    desk = ModelsDesk(make_surveying_service=lambda: Service(launch=partial(WorkerChild, run_broken_worker)))
    visitor = Visitor(desk)
    try:
        found = offers(visitor)
    finally:
        visitor.leave()
    assert found["smollm2-1.7b"].advice.fit in (Fit.FITS, Fit.TIGHT)


def test_what_is_loaded_counts_as_room_for_something_else(open_desk: OpenDesk) -> None:
    visitor = open_desk()
    request = BudgetRequest(bundle=Bundle("x", str(TINY_MODELS / "llama.gguf")), contexts=CONTEXTS)
    before = visitor.answer(BudgetMade, visitor.desk.budget(request)).budget.devices[0]
    visitor.desk.note_loaded(os.getpid(), {before.name: 1})
    visitor.answer(TokenChecked, visitor.desk.set_token(""))
    after = visitor.answer(BudgetMade, visitor.desk.budget(request)).budget.devices[0]
    assert after.memory_free_bytes - before.memory_free_bytes > -(64 << 20)
    assert after.memory_free_bytes <= after.memory_total_bytes
