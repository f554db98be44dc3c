"""What a bench has measured so far, a record a line, so that one that was broken off goes on where it was.

Written by a thread of its own: the window that drives the bench waits for no disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
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
_MAX_AGE_S: Final = 24 * 3600
"""What was measured longer ago met another computer: it may have been busier, or warmer, or updated since."""


class Journal:
    """Records of one bench in a JSON lines file. What cannot be read or written is left: it only costs time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # One thread, so that what is asked is done in order; Python waits for it when it ends.
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="bench-journal")

    def read(self) -> tuple[BenchRunRecord, ...]:
        """Return what is in the file, () if it is older than a day; a line that a power cut has torn is skipped."""
        self.flush()
        with contextlib.suppress(OSError):
            about = self._path.stat()
            if about.st_size <= _MAX_BYTES and time.time() - about.st_mtime < _MAX_AGE_S:
                return _records(self._path.read_bytes())
        return ()

    def begin(self, records: Sequence[BenchRunRecord]) -> None:
        """Have the file hold `records` and nothing else."""
        self._soon(self._begin, b"".join(_line(record) for record in records))

    def append(self, record: BenchRunRecord) -> None:
        self._soon(self._append, _line(record))

    def discard(self) -> None:
        self._soon(self._discard)

    def flush(self) -> None:
        """Wait until all that was asked so far is done."""
        self._writer.submit(int).result()

    def _soon(self, act: Callable[..., None], *what: bytes) -> None:
        # When Slipstream ends nothing more is taken; what stays can be gone on from.
        with contextlib.suppress(RuntimeError):
            self._writer.submit(act, *what)

    def _begin(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            write_atomically(self._path, data)

    def _append(self, line: bytes) -> None:
        with contextlib.suppress(OSError), self._path.open("ab") as stream:
            stream.write(line)

    def _discard(self) -> None:
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
