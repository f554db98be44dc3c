"""The token: where the Hub's own tools look for it, and nowhere else."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import BadOption, TokenNotKept
from engine.hub.token import read_token, token_path, write_token

TOKEN = "hf_aVerySecretToken"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home for the Hub's tools."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    return tmp_path / "hf"


def _of_huggingface_hub(expression: str) -> str:
    code = f"import huggingface_hub as h; from huggingface_hub import constants as c; print({expression})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_what_is_kept_is_found_by_the_hub_s_own_tools(home: Path) -> None:
    assert read_token() == ""
    write_token(f"  {TOKEN}\n")
    assert read_token() == TOKEN
    assert _of_huggingface_hub("h.get_token()") == TOKEN


@pytest.mark.parametrize("name", ["HF_HOME", "XDG_CACHE_HOME", "HF_TOKEN_PATH"])
def test_the_place_is_the_one_of_the_hub_s_own_tools(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HOME")
    monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    assert str(token_path()) == _of_huggingface_hub("c.HF_TOKEN_PATH")


def test_without_any_variable_the_place_is_the_same_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HOME")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert str(token_path()) == _of_huggingface_hub("c.HF_TOKEN_PATH")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a person's folder to that person")
def test_nobody_else_can_read_it(home: Path) -> None:
    home.mkdir()
    (home / "token").write_text("old")
    (home / "token").chmod(0o644)
    write_token(TOKEN)
    assert stat.S_IMODE((home / "token").stat().st_mode) == 0o600
    assert [path.name for path in home.iterdir()] == ["token"]


def test_an_empty_one_removes_it(home: Path) -> None:
    write_token(TOKEN)
    write_token("")
    assert not (home / "token").exists()
    write_token("")
    assert read_token() == ""


def test_the_environment_wins_and_is_not_written_over(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert read_token() == TOKEN
    with pytest.raises(BadOption, match="HF_TOKEN"):
        write_token("hf_another_one")
    assert not (home / "token").exists()


@pytest.mark.parametrize("text", ["short", "hf_ with spaces", "hf_line\nbreak", "hf_ünicode", "x" * 600])
def test_what_cannot_be_a_token_is_neither_kept_nor_shown(text: str) -> None:
    with pytest.raises(BadOption) as caught:
        write_token(text)
    assert text not in str(vars(caught.value))
    assert read_token() == ""


def test_a_damaged_file_counts_as_none(home: Path) -> None:
    home.mkdir()
    (home / "token").write_bytes(b"\xff\xfe\x00\r\nX-Evil: 1")
    assert read_token() == ""


def test_a_place_that_cannot_be_written_is_told(home: Path) -> None:
    home.write_text("a file where the folder should be", encoding="utf-8")
    with pytest.raises(TokenNotKept) as caught:
        write_token(TOKEN)
    assert TOKEN not in str(vars(caught.value))
    assert os.fspath(home) in caught.value.remedy
