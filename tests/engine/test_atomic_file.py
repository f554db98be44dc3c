"""Small files are replaced whole, and renames wait for a virus scanner."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from engine.atomic_file import replace_patiently, write_atomically


def test_a_rename_waits_while_another_program_holds_the_file(tmp_path: Path) -> None:
    """Only Windows refuses a rename over a file that is open; its answer stands in for the scanner."""
    source, target = tmp_path / "a.part", tmp_path / "a.gguf"
    source.write_bytes(b"new")
    is_free = threading.Event()

    def replace_unless_held(old: Path, new: Path) -> None:
        if not is_free.is_set():
            raise PermissionError(13, "The process cannot access the file", str(new))
        os.replace(old, new)

    threading.Timer(0.2, is_free.set).start()
    started_s = time.monotonic()
    replace_patiently(source, target, replace=replace_unless_held)
    assert time.monotonic() - started_s >= 0.2
    assert target.read_bytes() == b"new"
    is_free.clear()
    source.write_bytes(b"newer")
    with pytest.raises(PermissionError):
        replace_patiently(source, target, replace=replace_unless_held, tries=2)
    assert target.read_bytes() == b"new"
    assert source.exists()


def test_a_small_file_is_replaced_whole_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.json"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


def test_what_cannot_be_written_leaves_nothing_beside(tmp_path: Path) -> None:
    in_the_way = tmp_path / "a.json"
    in_the_way.mkdir()
    with pytest.raises(OSError, match=r"a\.json"):
        write_atomically(in_the_way, b"one")
    assert list(tmp_path.iterdir()) == [in_the_way]
