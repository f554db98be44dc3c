"""`slipstream models search` and `show`, as a person and as a script run them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.models.catalogue import load_catalogue
from tests.engine.cli.slipstream import MODELS, Outcome, assert_plain_failure, slipstream
from tests.hub_server.fixtures import hub
from tests.hub_server.server import HubServer

__all__ = ["hub"]

TOKEN = "hf_aVerySecretToken"
FILES = {
    "m-Q4_K_M.gguf": b"q" * 4_000,
    "m-Q8_0.gguf": b"q" * 8_000,
    "mtp-m-Q8_0.gguf": b"d" * 1_000,
    "README.md": b"# A model\x1b[31m",
}


@pytest.fixture
def filled(hub: HubServer) -> HubServer:
    facts: dict[str, Any] = {"architecture": "gemma4", "total": 8_000_000_000, "context_length": 131072}
    hub.add("org/gemma-8B-GGUF", FILES, gguf=facts, downloads=1234, tags=["gguf", "license:apache-2.0"])
    hub.add("org/plain-1B-GGUF", {"p-Q4_0.gguf": b"x"}, gguf={"total": 1_000_000_000}, gated="auto")
    return hub


def _run(hub: HubServer, *arguments: str, token: str = "", home: Path = Path("/nonexistent")) -> Outcome:
    environment = {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(home), "HF_TOKEN": token, "HF_TOKEN_PATH": ""}
    return slipstream("models", *arguments, environment=environment)


def test_a_search_shows_a_table(filled: HubServer) -> None:
    outcome = _run(filled, "search", "gemma")
    assert outcome.code == 0, outcome.err
    head, row = outcome.out.splitlines()
    assert head.split() == ["repository", "size", "context", "downloads", "licence"]
    assert row.split() == ["org/gemma-8B-GGUF", "8B", "131k", "1.23k", "apache-2.0", "1", "drafter", "file"]


def test_a_search_for_scripts_has_numbers_and_a_cursor(filled: HubServer) -> None:
    filled.page_size = 1
    first = json.loads(_run(filled, "search", "--limit", "1", "--sort", "downloads", "--json").out)
    assert [model["repo"] for model in first["models"]] == ["org/gemma-8B-GGUF"]
    assert first["models"][0]["n_params"] == 8_000_000_000
    more = ("search", "--sort", "downloads", "--json", "--cursor", first["cursor"])
    assert [model["repo"] for model in json.loads(_run(filled, *more).out)["models"]] == ["org/plain-1B-GGUF"]


def test_a_limit_within_a_page_is_kept_and_nothing_is_left_out_after_it(filled: HubServer) -> None:
    for number in range(3):
        filled.add(f"org/more-{number}B-GGUF", {"m-Q4_0.gguf": b"x"})
    found: list[str] = []
    cursor = ""
    while len(found) < 5:
        told = json.loads(_run(filled, "search", "--limit", "2", "--json", "--cursor", cursor).out)
        assert 0 < len(told["models"]) <= 2
        found += [model["repo"] for model in told["models"]]
        cursor = told["cursor"]
    assert cursor == ""
    assert len(set(found)) == 5


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--has-drafter", "--min-params", "2000M"), ["org/gemma-8B-GGUF"]),
        (("--max-params", "2b", "--author", "org"), ["org/plain-1B-GGUF"]),
    ],
)
def test_a_search_can_be_narrowed(filled: HubServer, options: tuple[str, ...], found: list[str]) -> None:
    told = json.loads(_run(filled, "search", *options, "--json").out)
    assert [model["repo"] for model in told["models"]] == found


def test_nothing_found_is_said_and_is_no_error(filled: HubServer) -> None:
    outcome = _run(filled, "search", "no such thing")
    assert outcome.code == 0
    assert outcome.out.startswith("Nothing was found.")


@pytest.mark.parametrize("arguments", [("--limit", "0"), ("--min-params", "lots")])
def test_a_wrong_search_is_told_before_anything_is_asked(hub: HubServer, arguments: tuple[str, ...]) -> None:
    outcome = _run(hub, "search", *arguments)
    assert outcome.code == 2
    assert "Traceback" not in outcome.err
    assert hub.log == ()


def test_a_repository_shows_quantisations_and_drafters(filled: HubServer) -> None:
    outcome = _run(filled, "show", "org/gemma-8B-GGUF", "--readme")
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert lines[1] == "8B parameters, gemma4, up to 131072 tokens, apache-2.0"
    assert "Q4_K_M        4 kB  m-Q4_K_M.gguf" in lines
    assert "mtp      1 kB  mtp-m-Q8_0" in lines
    assert lines[-1] == "# A model[31m"  # no control character of it reaches the terminal


def test_a_repository_for_scripts_is_pinned(filled: HubServer) -> None:
    told = json.loads(_run(filled, "show", "org/gemma-8B-GGUF", "--json").out)
    assert told["revision"] == filled.repositories["org/gemma-8B-GGUF"].head.sha
    assert [(q["label"], q["size_bytes"]) for q in told["quantisations"]] == [
        ("Q4_K_M", 4000),
        ("Q8_0", 8000),
    ]
    assert all(len(file["sha256"]) == 64 for q in told["quantisations"] for file in q["files"])
    assert [(d["kind"], d["size_bytes"]) for d in told["drafters"]] == [("mtp", 1000), ("ngram", 0)]


def test_drafters_are_judged_by_their_headers(hub: HubServer, tmp_path: Path) -> None:
    names = {"llama-Q8_0.gguf": "llama", "eagle3-llama.gguf": "llama-eagle3", "mtp-other.gguf": "mtp-gemma4"}
    files = {path: (MODELS / f"{name}.gguf").read_bytes() for path, name in names.items()}
    hub.add("org/tiny-1B-GGUF", files)
    hub.add("other/tiny-1B-DFlash-GGUF", {"d.gguf": (MODELS / "llama-dflash.gguf").read_bytes()})
    environment = {"HF_ENDPOINT": hub.endpoint, "SLIPSTREAM_CACHE_DIR": str(tmp_path)}
    show = ("models", "show", "org/tiny-1B-GGUF", "--judge", "--json")
    told = json.loads(slipstream(*show, environment=environment).out)
    drafters = {drafter["kind"]: drafter for drafter in told["drafters"]}
    assert {kind: drafter["reason"] for kind, drafter in drafters.items() if kind != "mtp"} == {
        "eagle3": "",
        "dflash": "",
        "ngram": "",
    }
    assert "Gemma 4" in drafters["mtp"]["reason"]
    assert drafters["dflash"]["files"][0]["repo"] == "other/tiny-1B-DFlash-GGUF"
    wrong = slipstream("models", "show", "org/tiny-1B-GGUF", "--judge", "Q2_K", environment=environment)
    assert_plain_failure(wrong, 2)
    assert "Q8_0" in wrong.err


def test_a_gate_is_told_with_its_address(filled: HubServer) -> None:
    assert (
        f"Accept the terms at {filled.endpoint}/org/plain-1B-GGUF"
        in _run(filled, "show", "org/plain-1B-GGUF").out
    )


def test_a_gate_that_is_open_for_the_token_asks_for_nothing(filled: HubServer) -> None:
    filled.users[TOKEN] = "me"
    filled.repositories["org/plain-1B-GGUF"].readers.add("me")
    assert "Accept the terms" not in _run(filled, "show", "org/plain-1B-GGUF", token=TOKEN).out


def test_drafters_behind_a_gate_stay_unjudged_and_the_page_is_shown(
    filled: HubServer, tmp_path: Path
) -> None:
    outcome = _run(filled, "show", "org/plain-1B-GGUF", "--judge", "Q4_0", home=tmp_path)
    assert outcome.code == 0, outcome.err
    assert (
        "No drafter was judged. “org/plain-1B-GGUF” asks everybody to accept its terms first." in outcome.err
    )
    assert "N-gram" in outcome.out


def test_a_token_that_cannot_be_one_is_told_of(filled: HubServer) -> None:
    outcome = _run(filled, "search", "gemma", token="hf two words")
    assert outcome.code == 0
    assert "What the variable HF_TOKEN holds is no token of the Hugging Face Hub" in outcome.err
    assert "two words" not in outcome.err


@pytest.mark.parametrize("entry", [load_catalogue()[-1]], ids=lambda e: e.bundle.id)
def test_a_bundle_of_the_catalogue_is_shown_without_a_network(hub: HubServer, entry: Any) -> None:
    outcome = _run(hub, "show", entry.bundle.id)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith(entry.bundle.name)
    assert all(file.path in outcome.out for file in entry.bundle.files)
    told = json.loads(_run(hub, "show", entry.bundle.id, "--json").out)
    assert told["bundle"]["id"] == entry.bundle.id
    assert told["target_bytes"] > 0
    assert hub.log == ()


def test_a_bundle_that_is_not_there_is_told(hub: HubServer) -> None:
    outcome = _run(hub, "show", "no-such-bundle")
    assert_plain_failure(outcome, 2)
    assert "owner/name" in outcome.err


def test_the_address_of_a_repository_is_as_good_as_its_name(filled: HubServer) -> None:
    address = "https://huggingface.co/org/gemma-8B-GGUF/tree/main"
    assert _run(filled, "show", address).out == _run(filled, "show", "org/gemma-8B-GGUF").out
    (found,) = json.loads(_run(filled, "search", address, "--json").out)["models"]
    assert found["repo"] == "org/gemma-8B-GGUF"


def test_a_model_of_this_computer_is_shown(filled: HubServer, starter_model: Path) -> None:
    outcome = _run(filled, "show", "starter")
    assert outcome.code == 0, outcome.err
    assert "Starter: SmolLM2 135M (starter): comes with Slipstream" in outcome.out
    assert str(starter_model) in outcome.out
    assert json.loads(_run(filled, "show", "starter", "--json").out)["id"] == "starter"


def test_a_repository_that_is_not_there_is_told(filled: HubServer) -> None:
    assert_plain_failure(_run(filled, "show", "org/none"), 1)


def test_offline_is_a_sentence(hub: HubServer) -> None:
    outcome = slipstream("models", "search", "x", environment={"HF_ENDPOINT": "http://127.0.0.1:9"})
    assert_plain_failure(outcome, 1)
    assert "cannot be reached" in outcome.err


def test_the_token_opens_what_is_private_and_is_never_printed(filled: HubServer, tmp_path: Path) -> None:
    secret = filled.add("org/secret-GGUF", FILES, private=True)
    secret.readers.add("me")
    filled.users[TOKEN] = "me"
    (tmp_path / "token").write_text(TOKEN + "\n", encoding="utf-8")
    assert _run(filled, "show", "org/secret-GGUF", home=tmp_path).code == 0
    refused = _run(filled, "show", "org/secret-GGUF", "--verbose", token="hf_aWrongSecretToken")
    assert_plain_failure(refused, 1)
    assert "does not accept the token" in refused.err
    assert "hf_aWrong" not in refused.err
