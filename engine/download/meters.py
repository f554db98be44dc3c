"""What is counted while files arrive."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.download.progress import DownloadState, FileProgress
from engine.models.remote import RemoteFile

SPEED_WINDOW_S = 5.0


@dataclass
class SpeedMeter:
    """Bytes per second over the last five seconds, from samples of a counter that only grows."""

    _samples: deque[tuple[float, int]] = field(default_factory=deque)

    def sample(self, now_s: float, total_bytes: int) -> None:
        self._samples.append((now_s, total_bytes))
        # One sample before the window stays, so that the window is always covered.
        while len(self._samples) > 2 and self._samples[1][0] <= now_s - SPEED_WINDOW_S:
            self._samples.popleft()

    def clear(self) -> None:
        self._samples.clear()

    @property
    def bytes_per_s(self) -> float:
        if len(self._samples) < 2:
            return 0.0
        (start_s, start_bytes), (end_s, end_bytes) = self._samples[0], self._samples[-1]
        return (end_bytes - start_bytes) / (end_s - start_s) if end_s > start_s else 0.0


class FileMeter:
    """One file's state, as its transfer reports it; `on_change` is called at each change of state."""

    def __init__(self, file: RemoteFile, done_bytes: int, on_change: Callable[[], None]) -> None:
        self.file = file
        self.sentence = ""
        self.fetched_bytes = 0
        self._state = DownloadState.WAITING
        self._done_bytes = done_bytes
        self._on_change = on_change
        self._lock = threading.Lock()

    @property
    def current(self) -> DownloadState:
        return self._state

    @property
    def to_come_bytes(self) -> int:
        return max(self.file.size_bytes - self._done_bytes, 0)

    def state(self, state: DownloadState, sentence: str = "") -> None:
        with self._lock:
            changed = (state, sentence) != (self._state, self.sentence)
            self._state, self.sentence = state, sentence
        if changed:
            self._on_change()

    def bytes(self, done_bytes: int, fetched_bytes: int = 0) -> None:
        with self._lock:
            self._done_bytes = done_bytes
            self.fetched_bytes += fetched_bytes

    def progress(self, standing: DownloadState) -> FileProgress:
        """Return its progress; `standing` is the state of a file that is not whole in a bundle that stands still."""
        state = self._state
        if not standing.is_active and state is not DownloadState.DONE:
            state = standing
        return FileProgress(self.file.path, self.file.size_bytes, self._done_bytes, state)


def joint_state(meters: list[FileMeter]) -> tuple[DownloadState, str]:
    """Return the state of a running bundle from those of its files, and the sentence that goes with it.

    A bundle runs while any file does; it is stalled when none runs and one has stalled.
    """
    for state in (DownloadState.RUNNING, DownloadState.STALLED, DownloadState.CHECKING):
        for meter in meters:
            if meter.current is state:
                return state, meter.sentence
    is_waiting = any(meter.current is DownloadState.WAITING for meter in meters)
    return (DownloadState.WAITING if is_waiting else DownloadState.RUNNING), ""
