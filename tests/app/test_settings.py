"""What is remembered, and what happens where it cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from pytestqt.qtbot import QtBot

from app.settings import ReadSettings, RunSettings, Settings, read_settings, settings_path, write_settings
from app.settings_keeper import SettingsKeeper


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    settings = Settings(theme="dark", prompt="Grüße 👋", run=RunSettings(draft_length=8, seed=3))
    path = tmp_path / "new folder" / "settings.json"
    assert write_settings(path, settings) == ""
    assert read_settings(path) == ReadSettings(settings)
    assert [file.name for file in path.parent.iterdir()] == ["settings.json"]


def test_no_file_yet_gives_the_defaults_without_a_word(tmp_path: Path) -> None:
    assert read_settings(tmp_path / "settings.json") == ReadSettings(Settings())


def test_a_damaged_file_is_kept_aside_and_the_defaults_are_used(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b'{"theme": 7')
    read = read_settings(path)
    assert read.settings == Settings()
    assert "damaged" in read.trouble
    assert (tmp_path / "settings.damaged.json").read_bytes() == b'{"theme": 7'


def test_a_file_of_a_later_version_keeps_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b'{"theme": "light", "from_the_future": [1, 2]}')
    assert read_settings(path).settings.theme == "light"


@pytest.mark.parametrize(("written", "read"), [(3, None), (8, 8), (0, 0)])
def test_a_draft_length_from_before_auto_stays_unless_it_was_the_untouched_three(
    tmp_path: Path, written: int, read: int | None
) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b'{"run": {"draft_length": %d, "max_tokens": 99}}' % written)
    settings = read_settings(path).settings
    assert settings.run == RunSettings(draft_length=read, max_tokens=99)
    chosen = msgspec.structs.replace(settings, run=RunSettings(draft_length=3))
    write_settings(path, chosen)
    assert read_settings(path).settings == chosen


def test_a_folder_that_cannot_be_written_is_said_once_and_costs_nothing_else(
    qtbot: QtBot, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    keeper = SettingsKeeper(tmp_path / "file" / "settings.json", ReadSettings(Settings()))
    said: list[str] = []
    keeper.trouble.connect(said.append)
    with qtbot.waitSignal(keeper.trouble, timeout=5000):
        keeper.change(prompt="first")
    keeper.change(prompt="second")
    keeper.flush()
    assert len(said) == 1
    assert "cannot be saved" in said[0]
    assert keeper.settings.prompt == "second"


def test_a_file_name_that_is_not_text_leaves_the_old_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    write_settings(path, Settings(prompt="old"))
    sentence = write_settings(path, Settings(target="/models/\udcff.gguf"))
    assert "file name or a text in them is not valid" in sentence
    assert read_settings(path).settings.prompt == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["settings.json"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_disk_leaves_the_old_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    write_settings(path, Settings(prompt="old"))
    path.with_name(f"settings.json.{os.getpid()}.new").symlink_to("/dev/full")
    sentence = write_settings(path, Settings(prompt="new"))
    assert "no space left" in sentence
    assert read_settings(path).settings.prompt == "old"


def test_changes_are_on_disk_a_moment_later(qtbot: QtBot) -> None:
    keeper = SettingsKeeper(settings_path(), ReadSettings(Settings()))
    keeper.change(composer="half a sentence")
    qtbot.waitUntil(
        lambda: read_settings(settings_path()).settings.composer == "half a sentence", timeout=5000
    )
