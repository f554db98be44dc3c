"""Room on the disk."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.download.disk import SPARE_BYTES, check_room, free_bytes, gigabytes
from engine.errors import DiskFull


def test_the_volume_is_found_before_the_folder_exists(tmp_path: Path) -> None:
    found = free_bytes(tmp_path / "not" / "here" / "yet")
    assert found == pytest.approx(shutil.disk_usage(tmp_path).free, rel=0.05)


def test_a_spare_stays_free_and_the_sentence_has_the_numbers(tmp_path: Path) -> None:
    check_room(tmp_path, 5 * 10**9, 5 * 10**9 + SPARE_BYTES)
    check_room(tmp_path, 0, 0)
    with pytest.raises(DiskFull) as caught:
        check_room(tmp_path, 5 * 10**9, 3 * 10**9)
    assert "5.0 GB are still to come and 3.0 GB are free" in caught.value.sentence
    assert "Free 2.3 GB" in caught.value.remedy


def test_sizes_are_told_as_disks_are_labelled() -> None:
    assert [gigabytes(n) for n in (0, 97_817_696, 999_999_999, 4_977_171_584)] == [
        "0 MB",
        "98 MB",
        "1000 MB",
        "5.0 GB",
    ]
