"""`slipstream inspect`: what a file is, here and on the Hub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.cli.command import main
from engine.cli.model_argument import find_header, parse_remote
from engine.errors import BadOption
from engine.models.remote import RemoteFile
from tests.engine.cli.slipstream import LLAMA, LLAMA_DRAFT, MODELS, assert_plain_failure, slipstream
from tests.hub_server.server import HubServer

REPO = "owner/tiny-GGUF"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """The local server in place of the Hub, and a cache of its own."""
    with HubServer().running() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        monkeypatch.setenv("SLIPSTREAM_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "token"))
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield server


def inspect_json(*arguments: str) -> dict[str, Any]:
    outcome = slipstream("inspect", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    told = json.loads(outcome.out)
    assert isinstance(told, dict)
    return told


def test_a_model_is_described_in_words_and_in_json() -> None:
    outcome = slipstream("inspect", LLAMA)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("llama.gguf: a language model\n")
    for words in ("4,096 tokens", "384 tokens, BPE", "hidden size 64", "It answers"):
        assert words in outcome.out
    told = inspect_json(LLAMA)
    assert (told["kind"], told["drafts_as"], told["n_ctx_train"]) == ("target", "model", 4096)
    assert told["vocabulary"]["n_tokens"] == 384
    assert "pair" not in told


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("llama-eagle3.gguf", "for a model of hidden size 64, from its layers 1, 2, 3"),
        ("llama-dflash.gguf", "up to 8 tokens at once"),
        ("mtp-qwen35.gguf", "for the qwen35 model of 4 layers"),
        ("mtp-gemma4.gguf", "for the Gemma 4 model of hidden size 64"),
        ("qwen35.gguf", "Its MTP head inside drafts for it"),
        ("step35.gguf", "step35 publishes no hidden states"),
    ],
)
def test_what_a_file_can_draft_for_is_said(name: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(MODELS / name)]) == 0
    assert words in capsys.readouterr().out


def test_whether_it_can_draft_for_a_model_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", LLAMA_DRAFT, "--for", LLAMA]) == 0
    assert capsys.readouterr().out.endswith("\nIt fits that model.\n")
    assert main(["inspect", str(MODELS / "llama-eagle3.gguf"), "--for", str(MODELS / "step35.gguf")]) == 0
    assert "It does not fit that model: in this llama.cpp" in capsys.readouterr().out
    pair = inspect_json(LLAMA_DRAFT, "--for", LLAMA)["pair"]
    assert pair == {"kind": "model", "fits": True, "reason": "", "remark": ""}


def test_a_file_on_the_hub_is_described_from_its_header(hub: HubServer, tmp_path: Path) -> None:
    hub.add(REPO, {"Q8_0/llama.gguf": Path(LLAMA).read_bytes()})
    told = inspect_json(f"{REPO}/Q8_0/llama.gguf", "--for", LLAMA_DRAFT)
    here = inspect_json(LLAMA)
    for name in ("is", "kind", "n_params", "file_bytes", "vocabulary", "uses"):
        assert told[name] == here[name]
    assert told["pair"]["fits"]
    assert list((tmp_path / "cache" / "headers").iterdir())


def test_what_is_neither_here_nor_there_is_a_sentence(hub: HubServer, tmp_path: Path) -> None:
    outcome = slipstream("inspect", "no/such/model.gguf", "--json")
    assert_plain_failure(outcome, 1)
    assert outcome.err.startswith("slipstream: There is no file “no/such/model.gguf” on this computer.\n")
    assert "There is no repository “no/such” on the Hugging Face Hub" in outcome.err
    outcome = slipstream("inspect", str(tmp_path / "gone.gguf"))
    assert_plain_failure(outcome, 1)
    assert "gone.gguf" in outcome.err
    assert_plain_failure(slipstream("inspect", ""), 2)
    with pytest.raises(BadOption, match="not valid Unicode"):
        find_header("\udcff.gguf")


def test_a_file_that_is_no_model_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "notes.gguf"
    path.write_text("not a model")
    outcome = slipstream("inspect", str(path))
    assert_plain_failure(outcome, 1)
    assert "“notes.gguf” is not a GGUF file" in outcome.err


@pytest.mark.parametrize(
    ("text", "remote"),
    [
        ("owner/name/file.gguf", RemoteFile("owner/name", "file.gguf")),
        ("owner/na.me-1/MTP/mtp-file.GGUF", RemoteFile("owner/na.me-1", "MTP/mtp-file.GGUF")),
        ("owner/name@v1.0/a/b.gguf", RemoteFile("owner/name", "a/b.gguf", "v1.0")),
        ("file.gguf", None),
        ("folder/file.gguf", None),
        ("/absolute/path/file.gguf", None),
        ("./folder/sub/file.gguf", None),
        ("../up/two/file.gguf", None),
        ("owner/name/../file.gguf", None),
        ("owner/name/file.bin", None),
        ("https://huggingface.co/owner/name/file.gguf", None),
    ],
)
def test_only_what_looks_like_a_file_of_a_repository_is_asked_of_the_hub(
    text: str, remote: RemoteFile | None
) -> None:
    assert parse_remote(text) == remote


def test_a_file_that_is_here_is_not_asked_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "owner" / "name").mkdir(parents=True)
    (tmp_path / "owner" / "name" / "file.gguf").touch()
    monkeypatch.chdir(tmp_path)
    assert parse_remote("owner/name/file.gguf") is None
    assert parse_remote("owner/nmae/flie.gguf") is None
    assert parse_remote("https://huggingface.co/owner/n/blob/v1/a/b.gguf") == RemoteFile(
        "owner/n", "a/b.gguf", "v1"
    )
