from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import FileGone, SlipstreamError
from engine.models.bundle import Bundle
from engine.shelf.folders import add_folder, read_folders, remove_folder
from engine.shelf.shelf import list_installed, models_folder
from tests.engine.models.small_files import write_model


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    for variable in ("HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "LLAMA_CACHE", "OLLAMA_MODELS"):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("SLIPSTREAM_MODELS_DIR", "SLIPSTREAM_DATA_DIR", "SLIPSTREAM_CACHE_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))


def no_starter() -> None:
    return None


def test_the_starter_comes_first_and_opened_files_last_each_once(tmp_path: Path) -> None:
    inside = write_model(models_folder() / "inside.gguf")
    outside = write_model(tmp_path / "outside é.gguf")
    starter = Bundle("Starter", str(write_model(tmp_path / "starter.gguf")))
    opened = [str(outside), str(inside), str(tmp_path / "gone.gguf")]
    names = [bundle.name for bundle in list_installed(opened, starter=lambda: starter)]
    assert names == ["Starter", "inside", "outside é"]


def test_a_computer_without_models_has_none() -> None:
    assert list_installed(starter=no_starter) == ()


def test_models_of_a_folder_that_the_person_added_are_listed_until_it_is_removed(tmp_path: Path) -> None:
    write_model(tmp_path / "mine" / "a.gguf")
    assert add_folder(str(tmp_path / "mine")) == (str(tmp_path / "mine"),)
    assert [bundle.name for bundle in list_installed(starter=no_starter)] == ["a"]
    assert remove_folder(str(tmp_path / "mine")) == ()
    assert list_installed(starter=no_starter) == ()
    assert (tmp_path / "mine" / "a.gguf").exists()


def test_a_folder_is_remembered_once_and_a_missing_one_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    add_folder(str(tmp_path / "one"))
    add_folder(str(tmp_path / "two" / ".." / "one"))
    add_folder(str(tmp_path / "two"))
    assert read_folders() == (str(tmp_path / "one"), str(tmp_path / "two"))
    with pytest.raises(FileGone, match="no folder"):
        add_folder(str(tmp_path / "three"))
    assert remove_folder(str(tmp_path / "three")) == read_folders()


def test_a_list_of_folders_that_cannot_be_saved_is_told(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")
    with pytest.raises(SlipstreamError, match="cannot be saved"):
        add_folder(str(tmp_path), place / "folders.json")


def test_the_folder_is_the_users_own_unless_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("SLIPSTREAM_MODELS_DIR", "SLIPSTREAM_DATA_DIR"):
        monkeypatch.delenv(variable)
    assert models_folder().name == "models"
    assert "Slipstream" in str(models_folder())
