from __future__ import annotations

from pathlib import Path

import pytest

from engine.shelf import walk
from engine.shelf.walk import gguf_files


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def names(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in gguf_files(folder)]


def test_ggufs_are_found_at_every_depth_by_any_spelling_of_their_suffix(tmp_path: Path) -> None:
    make(tmp_path, "b.gguf", "sub/deep/a.GGUF", "notes.txt", "sub/c.gguf.part")
    assert names(tmp_path) == ["b.gguf", "sub/deep/a.GGUF"]


def test_hidden_files_and_folders_are_left_out_but_a_hidden_folder_may_be_named(tmp_path: Path) -> None:
    make(tmp_path, ".cache/a.gguf", ".b.gguf", "c.gguf")
    assert names(tmp_path) == ["c.gguf"]
    assert names(tmp_path / ".cache") == ["a.gguf"]


def test_a_link_to_itself_hides_nothing_beside_it(tmp_path: Path) -> None:
    make(tmp_path, "a.gguf", "b.gguf", "sub/c.gguf")
    try:
        (tmp_path / "loop").symlink_to("loop")
    except OSError:
        pytest.skip("no links here")
    assert names(tmp_path) == ["a.gguf", "b.gguf", "sub/c.gguf"]


def test_links_that_loop_come_to_an_end(tmp_path: Path) -> None:
    make(tmp_path, "one/a.gguf", "two/b.gguf")
    try:
        (tmp_path / "one" / "up").symlink_to(tmp_path, target_is_directory=True)
        (tmp_path / "two" / "across").symlink_to(tmp_path / "one", target_is_directory=True)
    except OSError:
        pytest.skip("no links here")
    assert names(tmp_path) == ["one/a.gguf", "two/b.gguf"]


def test_a_linked_folder_is_entered(tmp_path: Path) -> None:
    make(tmp_path / "elsewhere", "a.gguf")
    (tmp_path / "models").mkdir()
    try:
        (tmp_path / "models" / "linked").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    except OSError:
        pytest.skip("no links here")
    assert names(tmp_path / "models") == ["linked/a.gguf"]


def test_deep_and_huge_folders_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "/".join(["d"] * (walk.MAX_DEPTH + 1)) + "/too-deep.gguf", "a.gguf")
    assert names(tmp_path) == ["a.gguf"]
    make(tmp_path, *(f"f{index}/m.gguf" for index in range(20)))
    monkeypatch.setattr(walk, "MAX_FOLDERS", 5)
    assert len(names(tmp_path)) < 6
    monkeypatch.setattr(walk, "MAX_FOLDERS", 100)
    monkeypatch.setattr(walk, "MAX_FILES", 7)
    assert len(names(tmp_path)) == 7


def test_what_is_no_folder_is_empty(tmp_path: Path) -> None:
    make(tmp_path, "file.gguf")
    assert names(tmp_path / "nowhere") == []
    assert gguf_files(tmp_path / "file.gguf") == ()
    assert gguf_files(Path("\0")) == ()


def test_a_name_that_is_no_text_is_left_out(tmp_path: Path) -> None:
    make(tmp_path, "good.gguf")
    try:
        (tmp_path / "bad\udcff.gguf").touch()
    except (OSError, UnicodeError):
        pytest.skip("this file system has no such names")
    assert names(tmp_path) == ["good.gguf"]
