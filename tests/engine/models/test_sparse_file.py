"""Files with a header and a hole after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import NoSparseFiles
from engine.models.sparse_file import can_have_holes, write_sparse

LENGTH = 64 << 30


def test_a_file_as_long_as_a_large_model_takes_the_room_of_its_header(tmp_path: Path) -> None:
    if not can_have_holes(tmp_path):
        pytest.skip("this disk has no sparse files")
    path = tmp_path / "new" / "large.gguf"
    write_sparse(path, b"GGUF" * 1000, LENGTH)
    assert path.stat().st_size == LENGTH
    with path.open("rb") as file:
        assert file.read(4000) == b"GGUF" * 1000
        assert file.read(1000) == bytes(1000)
    if hasattr(path.stat(), "st_blocks"):
        assert path.stat().st_blocks * 512 < 1 << 20
    assert list(path.parent.iterdir()) == [path]


def test_a_disk_that_fills_holes_is_refused_in_words_and_keeps_nothing(tmp_path: Path) -> None:
    with pytest.raises(NoSparseFiles) as caught:
        write_sparse(tmp_path / "m.gguf", b"GGUF", LENGTH, can_have_holes=lambda _: False)
    assert "download the model first" in caught.value.remedy
    assert list(tmp_path.iterdir()) == []
    write_sparse(tmp_path / "small.gguf", b"GGUF", 1000, can_have_holes=lambda _: False)
    assert (tmp_path / "small.gguf").stat().st_size == 1000


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught:  # noqa: PT011 - which one depends on the disk
        write_sparse(tmp_path / "m.gguf", b"GGUF", 1 << 62)
    assert caught.value.errno
    assert list(tmp_path.iterdir()) == []
