"""How far a download is."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from engine.models.remote import RemoteBundle


class DownloadState(StrEnum):
    """`STALLED`: no byte for a while, a new connection is tried. `CHECKING`: the Hub is asked what is there."""

    WAITING = "waiting"
    CHECKING = "checking"
    RUNNING = "running"
    STALLED = "stalled"
    PAUSED = "paused"
    FAILED = "failed"
    DONE = "done"
    CANCELLED = "cancelled"

    @property
    def is_active(self) -> bool:
        return self in _ACTIVE

    @property
    def is_over(self) -> bool:
        return self in (DownloadState.DONE, DownloadState.CANCELLED)


_ACTIVE = frozenset(
    {DownloadState.WAITING, DownloadState.CHECKING, DownloadState.RUNNING, DownloadState.STALLED}
)


class FileProgress(msgspec.Struct, frozen=True):
    """One file; `size_bytes` 0: not known yet."""

    path: str
    size_bytes: int
    done_bytes: int
    state: DownloadState


class DownloadProgress(msgspec.Struct, frozen=True):
    """One bundle's download. `bytes_per_s` over the last seconds, 0 while nothing comes; `left_s` None: cannot be told.

    `sentence`, `remedy` and `detail` say what went wrong in FAILED, and what is waited for in STALLED.
    """

    bundle: RemoteBundle
    state: DownloadState
    files: tuple[FileProgress, ...] = ()
    bytes_per_s: float = 0.0
    left_s: float | None = None
    sentence: str = ""
    remedy: str = ""
    detail: str = ""

    @property
    def id(self) -> str:
        return self.bundle.id

    @property
    def size_bytes(self) -> int:
        """Return the size of all files, 0 while that of one is not known."""
        sizes = [file.size_bytes for file in self.files]
        return sum(sizes) if all(sizes) else 0

    @property
    def done_bytes(self) -> int:
        return sum(file.done_bytes for file in self.files)

    @property
    def fraction(self) -> float:
        return min(self.done_bytes / self.size_bytes, 1.0) if self.size_bytes else 0.0
