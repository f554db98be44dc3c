"""What the list says and leaves out, and what a bundle's subject makes of the picks."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from PySide6.QtWidgets import QApplication

from app.bridge import ModelsBridge
from app.models import words
from app.models.actions import Act, offered
from app.models.downloads import overall, state_words, tray_words
from app.models.hub import HubState
from app.models.memory import bars_of, legend_of, measured_words, table_of
from app.models.rows import CURATED, HUB, INSTALLED, Filter, Row, RowKind, rows_of
from app.models.state import ModelsState
from app.models.subject import Subject, subject_of_repo
from app.widgets.models.facts import facts_of
from engine.budget.budget import Budget, ContextBudget, DeviceUse, KvType, Segment
from engine.download.progress import DownloadState
from engine.hub.listing import HubQuery
from engine.models.bundle import Bundle, DrafterChoice, DrafterKind
from engine.models.remote import RemoteFile
from engine.models_service import BudgetRequest
from engine.recommend.advice import ComputerSpeed, Fit, SpeedRange
from tests.app.model_facts import (
    ENTRIES,
    HERE,
    HUB_MODELS,
    MIB,
    OFFERS,
    SPEED,
    budget_of,
    installed_offer,
    repo_page,
)
from tests.app.scripted_models import ScriptedModels, progress_of
from tests.app.scripted_service import loaded_event


@pytest.fixture
def state(qapp: QApplication) -> ModelsState:
    service = ScriptedModels()
    state = ModelsState(service, ModelsBridge(service))
    state.offers, state.speed, state.is_listed = OFFERS, SPEED, True
    return state


def hub_of(state: ModelsState) -> HubState:
    return HubState(state.service, state.bridge)


def titles(rows: tuple[Row, ...]) -> list[str]:
    return [row.title for row in rows]


def test_curated_ones_come_first_then_what_is_here_then_the_hub(state: ModelsState) -> None:
    rows = rows_of(state, hub_of(state), Filter())
    assert [row.title for row in rows if row.kind is RowKind.HEADER] == [CURATED, INSTALLED, HUB]
    assert titles(rows)[1] == "Qwen3.5 9B"
    assert [row.rank for row in rows if row.rank] == [1, 2, 3]


def test_a_row_says_size_speed_fit_and_drafter(state: ModelsState) -> None:
    row = next(row for row in rows_of(state, hub_of(state), Filter()) if row.key == "gemma-4-12b")
    assert row.second == "Longer texts, careful answers"
    assert row.third == "7.6 GB · ≈ 47–79 tok/s here"
    assert words.FIT_WORDS[row.fit] == "Tight"
    assert row.drafter == "MTP"
    assert "431 GB/s, measured" in row.tip
    assert row.spoken == f"Gemma 4 12B, {row.second}, {row.third}, Tight, drafter: MTP"


def test_what_was_measured_here_bears_no_approximate_sign() -> None:
    assert words.speed_words(SpeedRange(38.2, 54.9)) == "≈ 38–55 tok/s here"
    assert words.speed_words(SpeedRange(41.2, 41.4, is_measured=True)) == "41 tok/s here"
    assert words.speed_words(SpeedRange(3.14, 4.26)) == "≈ 3.1–4.3 tok/s here"
    assert words.speed_words(None) == ""


def test_a_speed_says_what_it_rests_on() -> None:
    advice = OFFERS[0].advice
    assert "(CUDA0 431 GB/s, measured)" in words.speed_basis(advice, SPEED)
    assert "not measured yet" in words.speed_basis(advice, ComputerSpeed())
    assert words.speed_basis(HERE[0].advice, SPEED) == "Measured on this computer, in your own runs."


@pytest.mark.parametrize(
    ("wanted", "kept", "left_out"),
    [
        (Filter("code"), "Qwen3.5 9B", "Gemma 4 E4B"),
        (Filter("GEMMA 12"), "Gemma 4 12B", "Gemma 4 E4B"),
        (Filter(only_fitting=True), "Gemma 4 12B", "Llama 3.3 70B"),
        (Filter(only_drafted=True), "Gemma 4 E4B", "SmolLM3 3B"),
        (Filter(params=(15_000_000_000, 40_000_000_000)), "gpt-oss 20B", "Qwen3.5 9B"),
    ],
    ids=["what it is good at", "all words", "fits", "drafter", "size"],
)
def test_filters_leave_out_what_was_not_asked_for(
    state: ModelsState, wanted: Filter, kept: str, left_out: str
) -> None:
    shown = titles(rows_of(state, hub_of(state), wanted))
    assert kept in shown
    assert left_out not in shown


def test_a_long_catalogue_is_cut_until_all_of_it_or_something_in_it_is_asked_for(state: ModelsState) -> None:
    extra = tuple(msgspec.structs.replace(OFFERS[0], id=f"more-{i}", name=f"More {i}") for i in range(20))
    state.offers = (*OFFERS, *extra)
    rows = rows_of(state, hub_of(state), Filter())
    assert "Show 19 more" in titles(rows)
    assert [row.title for row in rows].index(INSTALLED) == 12
    assert "More 19" in titles(rows_of(state, hub_of(state), Filter(whole=True)))
    assert "More 19" in titles(rows_of(state, hub_of(state), Filter("more")))


def test_what_is_recommended_comes_first_wherever_it_lies(state: ModelsState) -> None:
    first = installed_offer(next(offer for offer in OFFERS if offer.advice.rank == 1))
    state.offers = (*(offer for offer in OFFERS if offer.id != first.id), first)
    rows = rows_of(state, hub_of(state), Filter())
    assert (rows[1].key, rows[1].rank) == (first.id, 1)
    assert rows[1].third.startswith("here · ")


def test_the_row_that_is_chosen_does_not_go_below_the_cut(state: ModelsState) -> None:
    extra = tuple(msgspec.structs.replace(OFFERS[-4], id=f"more-{i}", name=f"More {i}") for i in range(20))
    state.offers = (*OFFERS, *extra)
    assert "More 19" not in titles(rows_of(state, hub_of(state), Filter()))
    assert "More 19" in titles(rows_of(state, hub_of(state), Filter(keep="more-19")))


def test_what_was_not_checked_is_said_in_the_facts() -> None:
    offer = OFFERS[1]
    assert offer.entry is not None
    unchecked = msgspec.structs.replace(offer, entry=msgspec.structs.replace(offer.entry, is_verified=False))
    assert "Checked" not in dict(facts_of(Subject(offer)))
    assert dict(facts_of(Subject(unchecked)))["Checked"].startswith("Not yet: ")


def test_nothing_found_is_said_in_words(state: ModelsState) -> None:
    assert "Nothing here matches." in titles(rows_of(state, hub_of(state), Filter("xyzzy")))
    state.offers = ()
    assert "No model is here yet." in titles(rows_of(state, hub_of(state), Filter()))


def test_an_owner_of_whom_nothing_is_found_is_named(state: ModelsState) -> None:
    hub = hub_of(state)
    hub.ask("smol/")
    hub._typing.stop()
    assert "The Hub has nothing for “smol/” with these filters." in titles(rows_of(state, hub, Filter()))


def test_a_download_shows_in_the_row_of_its_repository(state: ModelsState) -> None:
    hub = hub_of(state)
    hub.models = HUB_MODELS[:2]
    bundle = msgspec.structs.replace(
        ENTRIES[0].bundle, target=(RemoteFile(HUB_MODELS[1].repo, "m.gguf", size_bytes=100),)
    )
    hub.query = HubQuery("gguf")
    state.downloads = {bundle.id: progress_of(bundle, 0.5, DownloadState.PAUSED)}
    rows = {row.key: row.third for row in rows_of(state, hub, Filter())}
    assert rows[HUB_MODELS[1].repo].startswith("Paused · ")
    assert rows[HUB_MODELS[0].repo].endswith("apache-2.0")


def test_picks_change_what_is_downloaded_and_asked_about() -> None:
    subject = subject_of_repo(repo_page("unsloth/Qwen3.8-27B-GGUF"))
    assert subject.versions[subject.quantisation][0] == "Q4_K_M"
    assert subject.picked_drafter.kind is DrafterKind.MTP
    assert subject.remote is not None
    assert [file.name for file in subject.remote.files] == ["Qwen3.8-27B-GGUF-Q4_K_M.gguf", "mtp-Q8_0.gguf"]
    kinds = [one.kind for one in subject.drafters]
    alone = replace(subject, quantisation=0, drafter=kinds.index(DrafterKind.NGRAM)).remote
    assert alone is not None
    assert [file.name for file in alone.files] == ["Qwen3.8-27B-GGUF-UD-IQ2_XXS.gguf"]
    assert alone.id != subject.remote.id


def test_a_curated_bundle_without_its_drafter_is_another_download() -> None:
    subject = Subject(OFFERS[1])
    whole = subject.remote
    assert whole is not None
    kinds = [one.kind for one in subject.drafters]
    assert kinds == [DrafterKind.MTP, DrafterKind.NGRAM, DrafterKind.NONE]
    alone = replace(subject, drafter=1).remote
    assert alone is not None
    assert (len(whole.files), len(alone.files)) == (2, 1)
    assert alone.id == f"{whole.id}--ngram"


def test_every_byte_of_a_budget_is_in_the_table_and_in_the_bar() -> None:
    budget = budget_of(BudgetRequest(remote=ENTRIES[0].bundle, race=True))
    at = budget.at(8192)
    assert at is not None
    bars = bars_of(budget, at)
    assert [bar.device for bar in bars] == ["CUDA0", "CPU"]
    assert sum(bar.used_bytes for bar in bars) == at.total_bytes
    kept_bytes = at.segment_bytes(Segment.RESERVE)
    assert sum(part.n_bytes for part in legend_of(bars)) == at.total_bytes + kept_bytes
    table = dict((row[0], row[1]) for row in table_of(at))
    assert table["KV cache"].replace(",", "") == str(at.devices[0].segments[Segment.KV])
    assert table["Together"].replace(",", "") == str(at.devices[0].total_bytes)
    assert table["Kept free beside it"].replace(",", "") == str(kept_bytes)


def test_every_segment_has_a_name_and_a_place_in_the_bar() -> None:
    everything = {segment: 2**i for i, segment in enumerate(Segment)}
    at = ContextBudget(8192, KvType.F16, (DeviceUse("CPU", everything),))
    (bar,) = bars_of(Budget((), (at,), {}, 8192, 1), at)
    assert bar.used_bytes == at.total_bytes
    assert len(table_of(at)) == len(Segment) + 2


def test_what_loading_took_stands_beside_what_was_expected() -> None:
    event = loaded_event(1, Bundle("m", "/m.gguf"))
    told = [
        measured_words(msgspec.structs.replace(event, memory_bytes={"CPU": n}, predicted_bytes={"CPU": m}))
        for n, m in ((1024 * MIB, 0), (1024 * MIB, 1024 * MIB), (1034 * MIB, 1024 * MIB))
    ]
    assert told == [
        "1.0 GiB on CPU",
        "1.0 GiB on CPU, as expected",
        "1.0 GiB on CPU; 1.0 GiB were expected (+1.0 %)",
    ]


def test_a_bar_says_what_stays_free_or_what_is_missing() -> None:
    budget = budget_of(BudgetRequest(remote=ENTRIES[2].bundle))
    small, large = budget.at(2048, KvType.F16), budget.at(262_144, KvType.F16)
    assert small is not None
    assert large is not None
    assert bars_of(budget, small)[0].caption == "takes 7.7 GiB, leaves 3.5 GiB"
    assert bars_of(budget, large)[0].caption == "needs 34.0 GiB, 11.2 GiB are free"


def test_each_state_of_a_download_has_its_words() -> None:
    bundle = ENTRIES[0].bundle
    said = {state: state_words(progress_of(bundle, 0.5, state)) for state in DownloadState}
    assert said[DownloadState.RUNNING] == "50 % · 2.5 GB of 5.1 GB · 42.3 MB/s · 1 min left"
    assert said[DownloadState.STALLED].startswith(
        "Stalled at 2.5 GB of 5.1 GB. No byte has come for 20 seconds."
    )
    assert said[DownloadState.PAUSED] == "Paused at 2.5 GB of 5.1 GB"
    assert said[DownloadState.FAILED].startswith("There is not enough room on the disk")
    assert said[DownloadState.DONE] == "Done and verified, 5.1 GB"
    assert all(said.values())


def test_a_stalled_download_shows_no_speed_of_before() -> None:
    stalled = progress_of(ENTRIES[0].bundle, 0.5, DownloadState.STALLED)
    assert "/s" not in state_words(stalled)
    running = progress_of(ENTRIES[1].bundle, 0.25, DownloadState.RUNNING)
    assert tray_words((stalled, running)).startswith("2 downloads · 4.0 GB of 10.9 GB · 42.3 MB/s")
    assert overall((stalled, running)) == pytest.approx(4.005e9 / 10.945e9, rel=1e-3)


def can_all(_kind: DrafterKind) -> str:
    return ""


def test_a_drafter_that_this_build_cannot_run_is_told_before_the_download() -> None:
    chosen = offered(Subject(OFFERS[1]), None, lambda _: "llama_mtp is missing", is_loaded=False)
    assert (chosen.primary, chosen.verb) == (Act.DOWNLOAD, "Download 5.1 GB")
    assert chosen.note.startswith("Its drafter cannot run here: llama_mtp is missing. Words seen before")
    assert offered(Subject(OFFERS[1]), None, can_all, is_loaded=False).note == ""


def test_what_does_not_fit_says_so_before_the_download() -> None:
    offer = next(one for one in OFFERS if one.advice.fit is Fit.DOES_NOT_FIT)
    note = offered(Subject(offer), None, can_all, is_loaded=False).note
    assert note.startswith("Does not fit on this computer: 42.9 GiB are needed")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("Qwen3.5-9B-Q4_K_M.gguf", "Q4_K_M"),
        ("gemma-4-26B-A4B-it-qat-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("gpt-oss-20b-MXFP4.gguf", "MXFP4"),
        ("big-BF16-00001-of-00003.gguf", "BF16"),
        ("model.gguf", "this file"),
    ],
)
def test_a_quantisation_is_read_from_a_name(name: str, label: str) -> None:
    assert words.quantisation_of(name) == label


def test_the_size_of_a_version_leaves_out_a_drafter_in_a_file_of_its_own() -> None:
    offer = HERE[1]
    assert offer.installed is not None
    bundle = msgspec.structs.replace(
        offer.installed.bundle, drafter=DrafterChoice(DrafterKind.MTP, "/m/mtp.gguf")
    )
    installed = msgspec.structs.replace(offer.installed, bundle=bundle)
    assert Subject(offer).versions == (("Q8_0", 1_646_572_512),)
    assert Subject(msgspec.structs.replace(offer, installed=installed)).versions == (("Q8_0", 0),)


def test_a_repository_without_a_model_says_so_and_what_it_holds() -> None:
    page = repo_page("unsloth/Qwen3.8-27B-GGUF")
    none = msgspec.structs.replace(
        page, quantisations=(), drafters=(), other_files=(RemoteFile("r", "model.safetensors"),)
    )
    subject = subject_of_repo(none)
    assert subject.lacks_model
    note = offered(subject, None, can_all, is_loaded=False).note
    assert note.startswith("There is no model in this repository that Slipstream can load")
    assert note.endswith("It holds model.safetensors.")


def test_a_model_here_says_that_n_gram_stands_in_for_its_drafter() -> None:
    offer = HERE[1]
    assert offer.installed is not None
    mtp = msgspec.structs.replace(
        offer.installed.bundle, drafter=DrafterChoice(DrafterKind.MTP, "/m/mtp.gguf")
    )
    here = msgspec.structs.replace(offer.installed, bundle=mtp)
    subject = Subject(msgspec.structs.replace(offer, installed=here))
    page = replace(subject_of_repo(repo_page("unsloth/Qwen3.8-27B-GGUF")), here=here)
    for one in (subject, page):
        said = offered(one, None, lambda kind: "no llama_mtp" * (kind is DrafterKind.MTP), is_loaded=False)
        assert said.note.startswith("Its drafter cannot run here: no llama_mtp.")
    assert offered(Subject(offer), None, can_all, is_loaded=False).note == ""
