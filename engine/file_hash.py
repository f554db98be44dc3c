"""The sha256 of files, with word of how far reading them is."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path

from engine.errors import Cancelled

READ_BYTES = 1 << 20
NEWS_S = 0.1


class ReadProgress:
    """Tells `on_progress` which fraction of `total_bytes` has been read, at most ten times a second."""

    def __init__(self, total_bytes: int, on_progress: Callable[[float], None]) -> None:
        self._total_bytes = max(total_bytes, 1)
        self._on_progress = on_progress
        self._done_bytes = 0
        self._next_s = 0.0

    def add(self, n_bytes: int) -> None:
        self._done_bytes += n_bytes
        if (now_s := time.monotonic()) >= self._next_s:
            self._next_s = now_s + NEWS_S
            self._on_progress(min(self._done_bytes / self._total_bytes, 1.0))

    def end(self) -> None:
        self._on_progress(1.0)


def sha256_of(path: Path, progress: ReadProgress, is_cancelled: Callable[[], bool]) -> str:
    """Return the sha256 of the file at `path`. Raise Cancelled between two reads, and OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while data := stream.read(READ_BYTES):
            if is_cancelled():
                raise Cancelled("Verifying was stopped.")
            digest.update(data)
            progress.add(len(data))
    return digest.hexdigest()
