"""Finding drafters for a repository's target, and judging them by headers that are fetched from the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import Cancelled, Offline
from engine.hub.client import HubClient
from engine.hub.drafters import (
    MAX_REPOS_OPENED,
    base_name,
    facts_reader,
    find_drafters,
    from_catalogue,
    from_named_repos,
    judge_drafters,
    nearest_first,
    with_more_drafters,
)
from engine.hub.grouping import HEAD_INSIDE
from engine.hub.listing import DrafterOption, Quantisation
from engine.models.bundle import DrafterKind
from engine.models.catalogue import load_catalogue
from engine.models.remote import RemoteFile
from tests.hub_server.faults import Fault, FaultKind
from tests.hub_server.server import HubServer

MODELS = Path(__file__).parents[2] / "models"


def _model(name: str) -> bytes:
    return (MODELS / name).read_bytes()


@pytest.mark.parametrize(
    ("repo", "base"),
    [
        ("unsloth/Qwen3.5-9B-MTP-GGUF", "Qwen3.5-9B"),
        ("bartowski/Qwen_Qwen3-32B-GGUF", "Qwen3-32B"),
        ("ggml-org/gemma-4-E4B-it-GGUF", "gemma-4-E4B"),
        ("unsloth/gemma-4-12B-it-qat-GGUF", "gemma-4-12B"),
        ("a/GGUF", "GGUF"),
    ],
)
def test_a_model_s_name_is_found_in_its_repository_s(repo: str, base: str) -> None:
    assert base_name(repo) == base


def test_the_catalogue_knows_a_small_model_for_a_family_and_heads_for_one_model() -> None:
    entries = load_catalogue()
    names = {option.files[0].name for option in from_catalogue("someone/Qwen3-30B-GGUF", entries)}
    assert names == {"Qwen3-0.6B-Q8_0.gguf"}
    names = {option.files[0].name for option in from_catalogue("unsloth/Qwen3.5-9B-GGUF", entries)}
    assert names == {"Qwen3.5-9B-DFlash.Q8_0.gguf"}
    assert from_catalogue("someone/phi-4-GGUF", entries) == ()


def test_repositories_named_for_the_model_are_looked_into(hub: HubServer, client: HubClient) -> None:
    hub.add("u/Qwen3.5-9B-GGUF", {"Qwen3.5-9B-Q4_0.gguf": b"x"})
    for name in ("x/Qwen3.5-9B-DFlash-GGUF", "y/Qwen3.5-9B_eagle3", "z/dspark-qwen3.5-9b-block7-GGUF"):
        hub.add(name, {"drafter-Q8_0.gguf": b"drafts"})
    hub.add("x/Qwen3.5-9B-Coder-35B-DFlash-GGUF", {"of-another-model-DFlash.gguf": b"x"})
    hub.add("x/Qwen3.5-9B-MTP-GGUF", {"a-target-Q4_0.gguf": b"x"})
    found = from_named_repos("u/Qwen3.5-9B-GGUF", client)
    assert {(option.kind, option.files[0].repo) for option in found} == {
        (DrafterKind.DFLASH, "x/Qwen3.5-9B-DFlash-GGUF"),
        (DrafterKind.EAGLE3, "y/Qwen3.5-9B_eagle3"),
        (DrafterKind.DSPARK, "z/dspark-qwen3.5-9b-block7-GGUF"),
    }
    assert all(option.files[0].is_pinned for option in found)


def test_not_more_repositories_are_opened_than_a_person_waits_for(hub: HubServer, client: HubClient) -> None:
    for number in range(MAX_REPOS_OPENED + 3):
        hub.add(f"x{number}/m-1B-DFlash-GGUF", {"m-1B-DFlash.gguf": b"x"})
    assert len(from_named_repos("u/m-1B-GGUF", client)) == MAX_REPOS_OPENED


def test_one_that_fails_is_left_out_and_being_offline_is_not_hidden(
    hub: HubServer, client: HubClient
) -> None:
    hub.add("x/m-1B-DFlash-GGUF", {"m-1B-DFlash.gguf": b"x"})
    hub.add("y/m-1B-DFlash-GGUF", {"m-1B-DFlash.gguf": b"x"})
    hub.api_faults.add(Fault(FaultKind.STATUS, "/api/models/x/*", status=500))
    assert [option.files[0].repo[0] for option in from_named_repos("u/m-1B-GGUF", client)] == ["y"]
    hub.api_faults.add(Fault(FaultKind.STALLED, "/api/models/x/*"))
    with pytest.raises(Offline):
        from_named_repos("u/m-1B-GGUF", client)


def test_what_is_found_elsewhere_stands_behind_the_own_ones(hub: HubServer, client: HubClient) -> None:
    hub.add("u/Qwen3.5-9B-GGUF", {"Qwen3.5-9B-Q4_0.gguf": b"x", "mtp-q.gguf": b"x"})
    repo = client.open_repo("u/Qwen3.5-9B-GGUF")
    whole = find_drafters(repo, client, load_catalogue())
    assert [option.kind for option in whole.drafters] == [
        DrafterKind.MTP,
        DrafterKind.DFLASH,
        DrafterKind.NGRAM,
    ]
    assert with_more_drafters(whole, whole.drafters) == whole


def test_by_names_the_nearest_come_first() -> None:
    def option(path: str, repo: str = "a/m") -> DrafterOption:
        return DrafterOption(DrafterKind.MTP, path, (RemoteFile(repo, path, size_bytes=1),))

    target = Quantisation("Q4_K_M", (RemoteFile("a/m", "m-Q4_K_M.gguf"),))
    options = [
        DrafterOption(DrafterKind.NGRAM, "n-gram"),
        option("mtp-m-Q8_0.gguf", "b/other"),
        option("mtp-m-BF16.gguf"),
        option("MTP/mtp-m-Q8_0.gguf"),
        option("mtp-m-Q4_0.gguf"),
    ]
    assert [each.name for each in nearest_first(target, options)] == [
        "mtp-m-Q4_0.gguf",
        "MTP/mtp-m-Q8_0.gguf",
        "mtp-m-BF16.gguf",
        "mtp-m-Q8_0.gguf",
        "n-gram",
    ]


def test_headers_decide_and_every_drafter_keeps_its_place_with_a_reason(
    hub: HubServer, client: HubClient, tmp_path: Path
) -> None:
    hub.add(
        "a/tiny-GGUF",
        {
            "llama-F32.gguf": _model("llama.gguf"),
            "eagle3-llama.gguf": _model("llama-eagle3.gguf"),
            "dflash-llama.gguf": _model("llama-dflash.gguf"),
            "mtp-gemma4.gguf": _model("mtp-gemma4.gguf"),
            "dspark-broken.gguf": b"no model at all",
        },
    )
    repo = client.open_repo("a/tiny-GGUF")
    judged = judge_drafters(repo, repo.quantisations[0], facts_reader(tmp_path, client))
    by_name = {option.name: option for option in judged.drafters}
    assert len(judged.drafters) == len(repo.drafters)
    assert by_name["eagle3-llama"].reason == ""
    assert by_name["dflash-llama"].reason == ""
    assert "Gemma 4" in by_name["mtp-gemma4"].reason
    assert by_name["dspark-broken"].reason == ""  # it could not be read, so nothing is claimed
    assert judged.drafters[-1].name == "mtp-gemma4"


def test_a_head_inside_is_found_where_no_name_tells_of_it_and_denied_where_there_is_none(
    hub: HubServer, client: HubClient, tmp_path: Path
) -> None:
    hub.add("a/Qwen3.8-tiny-GGUF", {"q-Q4_0.gguf": _model("qwen35.gguf")})
    hub.add("a/Qwen3.8-MTP-GGUF", {"q-Q4_0.gguf": _model("qwen35-nomtp.gguf")})
    read = facts_reader(tmp_path, client)
    with_head, without = client.open_repo("a/Qwen3.8-tiny-GGUF"), client.open_repo("a/Qwen3.8-MTP-GGUF")
    assert HEAD_INSIDE not in [option.name for option in with_head.drafters]
    judged = judge_drafters(with_head, with_head.quantisations[0], read)
    assert (DrafterKind.MTP, HEAD_INSIDE, "") in [(o.kind, o.name, o.reason) for o in judged.drafters]
    judged = judge_drafters(without, without.quantisations[0], read)
    assert [option.kind for option in judged.drafters] == [DrafterKind.NGRAM]


def test_judging_stops_between_two_headers(hub: HubServer, client: HubClient, tmp_path: Path) -> None:
    files = {"llama-F32.gguf": _model("llama.gguf"), "eagle3-llama.gguf": _model("llama-eagle3.gguf")}
    hub.add("a/tiny-GGUF", files)
    repo = client.open_repo("a/tiny-GGUF")
    with pytest.raises(Cancelled):
        judge_drafters(repo, repo.quantisations[0], facts_reader(tmp_path, client), lambda: True)
