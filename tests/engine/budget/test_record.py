"""What was predicted and measured is kept, and nothing goes wrong where it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.budget.budget import KvType, Segment
from engine.budget.record import LoadRecord, find_record, keep_record, read_records, record_path


def a_record(key: str, measured: int = 0) -> LoadRecord:
    predicted = {"CPU": {Segment.WEIGHTS: 100, Segment.KV: 20}}
    return LoadRecord(key, "model.gguf", 4096, KvType.F16, predicted, {"CPU": measured}, 140)


def test_the_last_record_of_a_load_is_found(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "memory.json"
    for record in (a_record("a"), a_record("b"), a_record("a", 123)):
        keep_record(path, record)
    assert find_record(path, "a") == a_record("a", 123)
    assert find_record(path, "c") is None
    assert [record.key for record in read_records(path)] == ["b", "a"]


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "memory.json"
    for number in range(70):
        keep_record(path, a_record(str(number)))
    assert [record.key for record in read_records(path)] == [str(number) for number in range(6, 70)]


def test_a_damaged_file_is_empty_and_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "memory.json"
    path.write_text("{ half a fi")
    assert read_records(path) == ()
    keep_record(path, a_record("a"))
    assert find_record(path, "a") == a_record("a")


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    in_the_way = tmp_path / "a-file"
    in_the_way.write_text("")
    keep_record(in_the_way / "memory.json", a_record("a"))
    assert find_record(in_the_way / "memory.json", "a") is None


def test_records_lie_in_the_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLIPSTREAM_CACHE_DIR", str(tmp_path))
    assert record_path() == tmp_path / "memory.json"
