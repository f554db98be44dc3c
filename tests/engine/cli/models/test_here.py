"""`slipstream models list`, `download`, `remove` and `verify`, as a person and as a script run them."""

from __future__ import annotations

import hashlib
import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine.cli.slipstream import (
    LLAMA,
    LLAMA_DRAFT,
    Outcome,
    assert_plain_failure,
    slipstream,
    start_slipstream,
)
from tests.engine.models.small_files import write_eagle3, write_model
from tests.hub_server.faults import Fault, FaultKind
from tests.hub_server.fixtures import hub
from tests.hub_server.server import HubServer

__all__ = ["hub"]

Run = Callable[..., Outcome]
TARGET, DRAFT = Path(LLAMA).read_bytes(), Path(LLAMA_DRAFT).read_bytes()
REPO = "org/tiny-GGUF"


@pytest.fixture
def places(tmp_path: Path, hub: HubServer) -> dict[str, str]:
    """An environment in which everything lies below the test's folder, and the Hub is the local one."""
    home = str(tmp_path / "home")
    return {
        "HOME": home,
        "USERPROFILE": home,
        "APPDATA": home,
        "XDG_DATA_HOME": f"{home}/data",
        "XDG_CONFIG_HOME": f"{home}/config",
        "XDG_CACHE_HOME": f"{home}/cache",
        "HF_HOME": f"{home}/hf",
        "HF_ENDPOINT": hub.endpoint,
        "HF_TOKEN": "",
        "SLIPSTREAM_DATA_DIR": str(tmp_path / "slipstream"),
        "SLIPSTREAM_CACHE_DIR": str(tmp_path / "cache"),
        "SLIPSTREAM_MODELS_DIR": str(tmp_path / "models"),
    }


@pytest.fixture
def run(places: dict[str, str]) -> Run:
    return lambda *arguments: slipstream("models", *arguments, environment=places)


@pytest.fixture
def filled(hub: HubServer) -> HubServer:
    files: dict[str, bytes | None] = {
        "tiny-Q4_K_M.gguf": TARGET,
        "tiny-Q8_0.gguf": TARGET + b"\0" * 32,
        "eagle3-tiny.gguf": DRAFT,
    }
    hub.add(REPO, files)
    return hub


def told(outcome: Outcome) -> Any:
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


def ids(run: Run) -> list[str]:
    return [model["id"] for model in told(run("list", "--json"))["models"] if model["id"] != "starter"]


# ----------------------------------------------------------------------------------------------------- list


def test_models_of_other_programs_are_listed_and_drafters_are_not(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "home" / "hf" / "hub" / "models--org--name" / "snapshots" / ("a" * 40)
    write_model(folder / "Model-Q8_0.gguf")
    write_eagle3(folder / "eagle3-Model.gguf")
    (folder / "broken.gguf").write_text("no model")
    outcome = run("list")
    row = next(line for line in outcome.out.splitlines() if line.startswith("Model-Q8_0"))
    assert row.endswith("eagle3   Hugging Face cache")
    assert "eagle3-Model" not in outcome.out
    assert "broken" not in outcome.out
    assert "broken.gguf” is not a GGUF file" in run("list", "--verbose").out
    shelf = told(run("list", "--json"))
    (model,) = [model for model in shelf["models"] if model["id"] != "starter"]
    assert (model["place"], model["can_remove"], model["n_ctx_train"]) == ("hub-cache", False, 4096)
    assert {Path(passed["path"]).name for passed in shelf["passed_over"]} == {
        "eagle3-Model.gguf",
        "broken.gguf",
    }


# ------------------------------------------------------------------------------------------------- download


def test_the_usual_quantisation_and_its_drafter_are_downloaded_listed_verified_and_removed(
    run: Run, filled: HubServer, tmp_path: Path
) -> None:
    outcome = run("download", REPO)
    assert outcome.code == 0, outcome.err
    bundle_id, *paths = outcome.out.split("\n  ")
    assert bundle_id.startswith("org--tiny-GGUF--Q4_K_M--eagle3 is here: ")
    assert [Path(path.strip()).read_bytes() for path in paths] == [TARGET, DRAFT]
    # Its header says what it is.
    assert told(run("list", "--json"))["models"][-1]["bundle"]["drafter"]["kind"] == "model"
    assert ids(run) == ["org--tiny-GGUF--Q4_K_M--eagle3"]
    verified = run("verify", "org--tiny")
    assert (verified.code, verified.out.split(":")[1]) == (0, " every file has its sha256.\n")
    removed = told(run("remove", "org--tiny-GGUF--Q4_K_M--eagle3", "--json"))
    assert removed["freed_bytes"] == len(TARGET) + len(DRAFT)
    assert ids(run) == []
    assert not list((tmp_path / "models").rglob("*.gguf"))


def test_one_file_can_be_chosen_by_its_quantisation_name_or_path(run: Run, filled: HubServer) -> None:
    for name in ("q8_0", "tiny-Q8_0.gguf"):
        done = told(run("download", REPO, name, "--json"))
        assert done["id"] == "org--tiny-GGUF--Q8_0"
        assert [Path(path).name for path in done["files"]] == ["tiny-Q8_0.gguf"]
    # The second time nothing had to come.
    assert filled.body_bytes < 1.5 * len(TARGET)
    done = told(run("download", REPO, "Q4_K_M", "eagle3-tiny.gguf", "--json"))
    assert [Path(path).name for path in done["files"]] == ["tiny-Q4_K_M.gguf", "eagle3-tiny.gguf"]


@pytest.mark.parametrize(
    ("arguments", "sentence", "remedy"),
    [
        ((REPO, "Q9_9"), "There is no “Q9_9” in “org/tiny-GGUF”.", "There are Q4_K_M, Q8_0."),
        ((REPO, "Q4_K_M", "Q8_0"), "Name one model", "There are Q4_K_M, Q8_0."),
        ((REPO, "eagle3-tiny.gguf"), "Name one model", "A drafter is optional."),
        (("no-such-bundle",), "There is no bundle “no-such-bundle”", "slipstream models recommend"),
        (("smollm2-1.7b", "Q8_0"), "“smollm2-1.7b” is a whole bundle", ""),
    ],
)
def test_a_choice_that_cannot_be_is_told_with_what_there_is(
    run: Run, filled: HubServer, arguments: tuple[str, ...], sentence: str, remedy: str
) -> None:
    outcome = run("download", *arguments)
    assert_plain_failure(outcome, 2)
    assert sentence in outcome.err
    assert remedy in outcome.err
    assert filled.body_bytes == 0


def test_a_folder_that_cannot_be_written_to_ends_a_download(
    places: dict[str, str], filled: HubServer, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    nowhere = places | {"SLIPSTREAM_MODELS_DIR": str(tmp_path / "file" / "models")}
    outcome = slipstream("models", "download", REPO, "Q4_K_M", environment=nowhere)
    assert_plain_failure(outcome, 1)
    assert "The folder for models cannot be written to" in outcome.err


def test_a_download_that_fails_ends_with_a_sentence(run: Run, hub: HubServer) -> None:
    hub.add("org/gated-GGUF", {"m-Q4_K_M.gguf": TARGET}, gated="manual")
    assert_plain_failure(run("download", "org/gated-GGUF"), 1)
    assert_plain_failure(run("download", "org/none-GGUF"), 1)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process there")
def test_ctrl_c_pauses_and_the_same_command_goes_on_from_there(
    places: dict[str, str], run: Run, filled: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled.faults.add(Fault(FaultKind.STALLED, f"{REPO}/tiny-Q4*", after_bytes=len(TARGET) // 2))
    for name, value in places.items():
        monkeypatch.setenv(name, value)
    process = start_slipstream(["models", "download", REPO, "Q4_K_M"])
    deadline_s = time.monotonic() + 30
    while filled.body_bytes < len(TARGET) // 3 and time.monotonic() < deadline_s:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err.decode()
    assert out == b""
    assert "paused" in err.decode()
    assert "the same command goes on" in err.decode()
    assert ids(run) == []
    (paused,) = told(run("list", "--json"))["unusable"]
    assert (paused["id"], paused["trouble"][:9]) == ("org--tiny-GGUF--Q4_K_M", "paused at")
    assert "paused at" in run("list").out
    done = told(run("download", "org--tiny-GGUF--Q4_K_M", "--json"))
    assert Path(done["files"][0]).read_bytes() == TARGET
    assert filled.body_bytes < 1.2 * len(TARGET)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process there")
def test_why_nothing_comes_is_told_once_though_nobody_looks(
    places: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in places.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    process = start_slipstream(["models", "download", "smollm2-1.7b"])
    assert process.stderr is not None
    line = process.stderr.readline().decode()
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert line == "slipstream: smollm2-1.7b: The Hub cannot be reached; trying again.\n"
    assert err.decode().startswith("slipstream: paused")


# -------------------------------------------------------------------------------------- remove and verify


def test_what_slipstream_did_not_download_is_left_alone(run: Run, tmp_path: Path) -> None:
    path = write_model(tmp_path / "home" / ".lmstudio" / "models" / "o" / "n" / "mine.gguf")
    outcome = run("remove", "mine")
    assert_plain_failure(outcome, 1)
    assert "was not downloaded by Slipstream (LM Studio)" in outcome.err
    assert path.exists()


def test_a_name_that_is_not_here_is_told_with_what_is_near(run: Run, tmp_path: Path) -> None:
    write_model(tmp_path / "home" / ".lmstudio" / "models" / "o" / "n" / "Gemma-4-E4B.gguf")
    for verb in ("remove", "verify"):
        outcome = run(verb, "gemma-4-e5b")
        assert_plain_failure(outcome, 1)
        assert "Did you mean “Gemma-4-E4B”?" in outcome.err


def test_a_file_that_changed_after_its_download_is_found(run: Run, filled: HubServer) -> None:
    (path,) = told(run("download", REPO, "Q4_K_M", "--json"))["files"]
    data = bytearray(TARGET)
    data[-1] ^= 1
    Path(path).write_bytes(data)
    outcome = run("verify", "org--tiny")
    assert_plain_failure(outcome, 1)
    assert "tiny-Q4_K_M.gguf" in outcome.err
    as_json = run("verify", "org--tiny", "--json")
    assert as_json.code == 1
    assert json.loads(as_json.out)["is_right"] is False


def test_what_ollama_keeps_is_compared_with_the_sha256_in_its_name(run: Run, tmp_path: Path) -> None:
    models = tmp_path / "home" / ".ollama" / "models"
    digest = hashlib.sha256(TARGET).hexdigest()
    blob = models / "blobs" / f"sha256-{digest}"
    manifest = models / "manifests" / "registry.ollama.ai" / "library" / "tiny" / "1m"
    for path in (blob, manifest):
        path.parent.mkdir(parents=True)
    blob.write_bytes(TARGET)
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"}
    manifest.write_text(json.dumps({"layers": [layer]}))
    assert told(run("verify", "tiny:1m", "--json")) == {
        "id": "tiny:1m",
        "is_right": True,
        "is_compared": True,
        "sentence": "",
    }
    blob.write_bytes(TARGET[:-1] + bytes([TARGET[-1] ^ 1]))
    assert_plain_failure(run("verify", "tiny:1m"), 1)


def test_what_has_no_sha256_is_said_to_be_whole_only(run: Run, tmp_path: Path) -> None:
    write_model(tmp_path / "home" / ".lmstudio" / "models" / "o" / "n" / "mine.gguf")
    outcome = run("verify", "mine")
    assert outcome.code == 0
    assert "nothing to compare its contents with" in outcome.out


# --------------------------------------------------------------------------------------------------- budget


def test_a_budget_is_made_for_a_model_by_its_name(run: Run, places: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "models" / "Tiny-1M.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(TARGET)
    outcome = slipstream("budget", "tiny-1m", "--contexts", "512", "--json", environment=places)
    assert [context["n_ctx"] for context in told(outcome)["contexts"]] == [512]
    assert_plain_failure(slipstream("budget", "tiny-2m", environment=places), 1)


# ------------------------------------------------------------------------- what is damaged, or not whole yet


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def overwrite(path: Path) -> None:
    path.write_bytes(b"<html>" + path.read_bytes()[6:])


@pytest.mark.parametrize("harm", [cut, Path.unlink, overwrite])
def test_a_damaged_download_is_listed_found_by_its_name_and_fetched_again(
    run: Run, filled: HubServer, places: dict[str, str], harm: Callable[[Path], None]
) -> None:
    (file,) = told(run("download", REPO, "Q4_K_M", "--json"))["files"]
    name = "org--tiny-GGUF--Q4_K_M"
    harm(Path(file))
    listed = told(run("list", "--json"))
    assert [model["id"] for model in listed["unusable"]] == [name]
    assert listed["unusable"][0]["trouble"]
    outcome = run("list")
    assert f"{name}: " in outcome.out
    assert f"slipstream models download {name}" in outcome.out
    assert run("verify", name).code == 1
    generated = slipstream("generate", "--bundle", name, "--prompt", "a", environment=places)
    assert_plain_failure(generated, 1)
    assert f"slipstream models download {name}" in generated.err
    assert run("download", name).code == 0
    assert Path(file).read_bytes() == TARGET
    assert ids(run) == [name]


def test_a_damaged_download_can_be_removed(run: Run, filled: HubServer, tmp_path: Path) -> None:
    (file,) = told(run("download", REPO, "Q4_K_M", "--json"))["files"]
    overwrite(Path(file))
    assert run("remove", "org--tiny").code == 0
    assert told(run("list", "--json"))["unusable"] == []
    assert not list((tmp_path / "models").rglob("*.gguf"))


def test_a_file_that_is_no_gguf_is_not_fetched_and_leaves_nothing_behind_when_removed(
    run: Run, hub: HubServer, tmp_path: Path
) -> None:
    hub.add(REPO, {"page-Q4_K_M.gguf": b"<html>" + TARGET})
    outcome = run("download", REPO, "Q4_K_M")
    assert_plain_failure(outcome, 1)
    assert "page-Q4_K_M.gguf" in outcome.err
    assert "not a GGUF" in outcome.err
    hub.add("org/broken-GGUF", {"m-Q4_K_M.gguf": TARGET[:-1000]})
    outcome = run("download", "org/broken-GGUF", "Q4_K_M")
    assert_plain_failure(outcome, 1)
    assert "cut short" in outcome.err
    unusable = told(run("list", "--json"))["unusable"]
    assert [one["id"] for one in unusable] == ["org--broken-GGUF--Q4_K_M", "org--tiny-GGUF--Q4_K_M"]
    assert all("failed" in one["trouble"] for one in unusable)
    for one in unusable:
        assert run("remove", one["id"]).code == 0
    assert told(run("list", "--json"))["unusable"] == []
    assert not list((tmp_path / "models").rglob("*.gguf"))
