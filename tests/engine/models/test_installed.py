from __future__ import annotations

from pathlib import Path

import pytest

from engine.models.bundle import NGRAM_DRAFTER, Bundle
from engine.models.installed import list_installed, models_folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setenv("SLIPSTREAM_MODELS_DIR", str(folder))
    return folder


def no_starter() -> None:
    return None


def test_models_of_the_folder_are_listed_by_name(folder: Path) -> None:
    (folder / "sub").mkdir()
    for name in ("b.gguf", "sub/a.GGUF", "notes.txt"):
        (folder / name).touch()
    assert [bundle.name for bundle in list_installed(starter=no_starter)] == ["b", "a"]
    assert all(bundle.drafter == NGRAM_DRAFTER for bundle in list_installed(starter=no_starter))


def test_the_starter_comes_first_and_recent_files_last_each_once(folder: Path, tmp_path: Path) -> None:
    inside, outside = folder / "inside.gguf", tmp_path / "outside é.gguf"
    for path in (inside, outside):
        path.touch()
    starter = Bundle("Starter", str(tmp_path / "starter.gguf"))
    recent = [str(outside), str(inside), str(tmp_path / "gone.gguf")]
    names = [bundle.name for bundle in list_installed(recent, starter=lambda: starter)]
    assert names == ["Starter", "inside", "outside é"]


def test_a_name_that_is_no_text_is_left_out(folder: Path) -> None:
    (folder / "good.gguf").touch()
    try:
        (folder / "bad\udcff.gguf").touch()
    except (OSError, UnicodeError):
        pytest.skip("this file system has no such names")
    assert [bundle.name for bundle in list_installed(starter=no_starter)] == ["good"]


def test_a_missing_folder_is_empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SLIPSTREAM_MODELS_DIR", str(tmp_path / "nowhere"))
    assert list_installed(starter=no_starter) == ()


def test_the_folder_is_the_users_own_unless_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLIPSTREAM_MODELS_DIR", raising=False)
    assert models_folder().name == "models"
    assert "Slipstream" in str(models_folder())
