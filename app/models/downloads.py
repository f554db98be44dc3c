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


def state_words(progress: DownloadProgress) -> str:
    """Return one line about a download: how far, how fast, how long; or why it does not go on."""
    so_far = file_progress(progress.done_bytes, progress.size_bytes)
    match progress.state:
        case DownloadState.WAITING:
            return "Waits for its turn"
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
        return f"{running[0].bundle.name}: {state_words(running[0])}"
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


def ring_words(running: Sequence[DownloadProgress], n_other: int) -> str:
    """Return the name of the ring on the rail."""
    if running:
        return f"Downloads: {count(len(running), 'download')} under way, {share(overall(running))} done"
    return f"Downloads: none under way, {n_other} in the list" if n_other else "Downloads: none"


def file_rows(files: Sequence[FileProgress]) -> tuple[tuple[str, ...], ...]:
    """Return a table of what each file does."""
    head = (("File", "So far", "State"),)
    rows = tuple(
        (one.path.rpartition("/")[2], file_progress(one.done_bytes, one.size_bytes), _FILE_WORDS[one.state])
        for one in files
    )
    return head + rows
