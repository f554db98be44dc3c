"""What a bench has measured so far, a record a line, so that one that was broken off goes on where it was."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from engine.atomic_file import write_atomically
from engine.bench.plan import BenchPlan
from engine.bench.results import BenchRunRecord, Machine
from engine.folders import data_folder
from engine.models.bundle import Bundle
from engine.recommend.store import pair_key
from engine.worker.messages import LoadSettings

FOLDER: Final = "bench"
_MAX_BYTES: Final = 64 << 20


class Journal:
    """Records of one bench in a JSON lines file. What cannot be read or written is left: it only costs time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> tuple[BenchRunRecord, ...]:
        """Return what is in the file; a line that is no record, as a power cut leaves one, is skipped."""
        with contextlib.suppress(OSError):
            if self._path.stat().st_size <= _MAX_BYTES:
                return _records(self._path.read_bytes())
        return ()

    def begin(self, records: Sequence[BenchRunRecord]) -> None:
        """Have the file hold `records` and nothing else."""
        with contextlib.suppress(OSError):
            write_atomically(self._path, b"".join(_line(record) for record in records))

    def append(self, record: BenchRunRecord) -> None:
        with contextlib.suppress(OSError), self._path.open("ab") as stream:
            stream.write(_line(record))

    def discard(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink()


def journal_of(
    plan: BenchPlan, bundle: Bundle, machine: Machine, load: LoadSettings, folder: Path | None = None
) -> Journal:
    """Return the journal of exactly this: the same plan, files, computer, versions and way of loading.

    `folder` overrides the data folder.
    """
    files = pair_key(bundle).encode(errors="surrogateescape")
    what = msgspec.json.encode((plan, machine, load)) + files
    name = f"{hashlib.sha256(what).hexdigest()[:16]}.jsonl"
    return Journal((folder or data_folder()) / FOLDER / name)


def _records(data: bytes) -> tuple[BenchRunRecord, ...]:
    records = []
    for line in data.splitlines():
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
            records.append(msgspec.json.decode(line, type=BenchRunRecord))
    return tuple(records)


def _line(record: BenchRunRecord) -> bytes:
    return msgspec.json.encode(record) + b"\n"
