"""What the ring, the panel and the tray say of downloads: pure functions of their progress."""

from __future__ import annotations

from collections.abc import Sequence

from app.format import count, file_progress, file_size, rate, share, time_left
from engine.download.progress import DownloadProgress, DownloadState, FileProgress

_FILE_WORDS = {
    DownloadState.WAITING: "waits",
    DownloadState.CHECKING: "being checked",
    DownloadState.RUNNING: "coming",
    DownloadState.STALLED: "stalled",
    DownloadState.PAUSED: "paused",
    DownloadState.FAILED: "failed",
    DownloadState.DONE: "done, verified",
    DownloadState.CANCELLED: "cancelled",
}


def state_words(progress: DownloadProgress, *, is_alone: bool = False) -> str:
    """Return one line about a download: how far, how fast, how long; or why it does not go on.

    `is_alone`: no other is under way, so that there is none to wait for.
    """
    so_far = file_progress(progress.done_bytes, progress.size_bytes)
    match progress.state:
        case DownloadState.WAITING:
            return "Beginning…" if is_alone else "Waits for its turn"
        case DownloadState.CHECKING:
            return "Asking the Hub what there is…"
        case DownloadState.STALLED:
            return f"Stalled at {so_far}. {progress.sentence} {progress.remedy}".strip()
        case DownloadState.PAUSED:
            return f"Paused at {so_far}"
        case DownloadState.FAILED:
            return f"{progress.sentence} {progress.remedy}".strip() or "The download failed."
        case DownloadState.DONE:
            return f"Done and verified, {file_size(progress.size_bytes)}"
        case DownloadState.CANCELLED:
            return "Cancelled"
    parts = [share(progress.fraction), so_far, rate(progress.bytes_per_s), time_left(progress.left_s)]
    return " · ".join(part for part in parts if part)


def overall(downloads: Sequence[DownloadProgress]) -> float:
    """Return the fraction 0 to 1 of all bytes of `downloads` that are there."""
    whole = sum(one.size_bytes for one in downloads)
    return min(1.0, sum(one.done_bytes for one in downloads if one.size_bytes) / whole) if whole else 0.0


def tray_words(running: Sequence[DownloadProgress]) -> str:
    """Return the line that every page shows while something is on its way."""
    if len(running) == 1:
        return f"{running[0].bundle.name}: {state_words(running[0], is_alone=True)}"
    speeds = sum(one.bytes_per_s for one in running)
    done, whole = sum(one.done_bytes for one in running), sum(one.size_bytes for one in running)
    longest = max((one.left_s for one in running if one.left_s is not None), default=None)
    parts = [count(len(running), "download"), file_progress(done, whole)]
    parts.append(rate(speeds) if speeds else "stalled")
    return " · ".join([*parts, *([time_left(longest)] if longest and speeds else [])])


def ended_words(progress: DownloadProgress) -> str:
    """Return what is said when a download has come to its end, "" where it has not."""
    if progress.state is DownloadState.DONE:
        return f"{progress.bundle.name} is here: downloaded and verified."
    if progress.state is DownloadState.FAILED:
        return f"{progress.bundle.name} could not be downloaded: {progress.sentence}"
    return ""


def waiting_words(waiting: Sequence[DownloadProgress]) -> str:
    """Return what is said while nothing is under way but downloads wait to go on, "" where none does."""
    if not waiting:
        return ""
    if len(waiting) == 1:
        verb = "could not go on" if waiting[0].state is DownloadState.FAILED else "is paused"
        return f"{waiting[0].bundle.name} {verb}"
    return f"{count(len(waiting), 'download')} wait"


def ring_words(running: Sequence[DownloadProgress], waiting: Sequence[DownloadProgress], n_done: int) -> str:
    """Return the name of the ring on the rail."""
    parts = []
    if running:
        parts.append(f"{count(len(running), 'download')} under way, {share(overall(running))} done")
    if waiting:
        parts.append(f"{count(len(waiting), 'download waits', 'downloads wait')}")
    if not parts:
        parts.append(f"none under way, {n_done} in the list" if n_done else "none")
    return f"Downloads: {', '.join(parts)}"


def file_rows(files: Sequence[FileProgress]) -> tuple[tuple[str, ...], ...]:
    """Return a table of what each file does."""
    head = (("File", "So far", "State"),)
    rows = tuple(
        (one.path.rpartition("/")[2], file_progress(one.done_bytes, one.size_bytes), _FILE_WORDS[one.state])
        for one in files
    )
    return head + rows
