"""A file's hash, and how often it is told how far it is."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import pytest

from engine.errors import Cancelled
from engine.file_hash import NEWS_S, READ_BYTES, ReadProgress, sha256_of


def test_many_reads_are_told_about_ten_times_a_second(tmp_path: Path) -> None:
    content = bytes(100 * READ_BYTES)
    path = tmp_path / "a.gguf"
    path.write_bytes(content)
    fractions: list[float] = []
    progress = ReadProgress(len(content), fractions.append)
    started_s = time.monotonic()
    assert sha256_of(path, progress, lambda: False) == hashlib.sha256(content).hexdigest()
    progress.end()
    assert 2 <= len(fractions) <= (time.monotonic() - started_s) / NEWS_S + 2
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


def test_nothing_is_told_once_it_is_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(b"x")
    fractions: list[float] = []
    with pytest.raises(Cancelled):
        sha256_of(path, ReadProgress(1, fractions.append), lambda: True)
    assert fractions == []
