"""What was predicted and what was then measured, load by load, in a small file."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Final

import msgspec
import platformdirs

from engine.budget.budget import KvType, Segment

RECORD_VARIABLE: Final = "SLIPSTREAM_MEMORY_RECORD"
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


def record_path() -> Path | None:
    """Return where records are kept; SLIPSTREAM_MEMORY_RECORD names another file, or none where it is empty."""
    override = os.environ.get(RECORD_VARIABLE)
    if override is not None:
        return Path(override) if override else None
    return platformdirs.user_cache_path("Slipstream", appauthor=False) / "memory.json"


def read_records(path: Path | None) -> tuple[LoadRecord, ...]:
    """Return what is kept at `path`, the newest last; () for a file that is missing or unreadable."""
    if path is None:
        return ()
    try:
        return msgspec.json.decode(path.read_bytes(), type=tuple[LoadRecord, ...])
    except (OSError, msgspec.DecodeError):
        return ()


def find_record(path: Path | None, key: str) -> LoadRecord | None:
    return next((record for record in read_records(path) if record.key == key), None)


def keep_record(path: Path | None, record: LoadRecord) -> None:
    """Add `record` in place of the one of the same key. A disk that is full or read-only keeps nothing."""
    if path is None:
        return
    others = [old for old in read_records(path) if old.key != record.key]
    data = msgspec.json.encode([*others[1 - _MAX_RECORDS :], record])
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(name, path)
        except OSError:
            os.unlink(name)
