"""What was predicted and what was then measured, load by load, in a small file."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

import msgspec

from engine.budget.budget import KvType, Segment
from engine.folders import cache_folder
from engine.json_file import read_json, write_json

_MAX_RECORDS: Final = 64


class LoadRecord(msgspec.Struct, frozen=True):
    """One way to load a bundle.

    `key` names the files as they are, the settings, the devices and llama.cpp's version. `predicted` is by device and
    segment, `measured_bytes` by device; `grown_bytes` is how much the process grew: pages of the file that were only
    read through count in it.
    """

    key: str
    target: str
    n_ctx: int
    kv_type: KvType
    predicted: dict[str, dict[Segment, int]]
    measured_bytes: dict[str, int] = msgspec.field(default_factory=dict)
    grown_bytes: int = 0


def record_path() -> Path:
    """Return where records are kept."""
    return cache_folder() / "memory.json"


def read_records(path: Path) -> tuple[LoadRecord, ...]:
    """Return what is kept at `path`, the newest last; () for a file that is missing or unreadable."""
    return read_json(path, tuple[LoadRecord, ...], ())


def find_record(path: Path, key: str) -> LoadRecord | None:
    """Return what is kept of the load that `key` names, None if there is nothing."""
    return next((record for record in read_records(path) if record.key == key), None)


def keep_record(path: Path, record: LoadRecord) -> None:
    """Add `record` in place of the one of the same key. A disk that is full or read-only keeps nothing."""
    others = [old for old in read_records(path) if old.key != record.key]
    with contextlib.suppress(OSError):
        write_json(path, (*others[1 - _MAX_RECORDS :], record))
