"""`slipstream models download`: a bundle of the catalogue, or files of a repository, with one line of progress."""

from __future__ import annotations

import argparse
import contextlib
import queue
import re
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType

import msgspec

from engine.bundles.store import file_path
from engine.cli.models.choice import choose_remote
from engine.cli.models.hub import open_hub
from engine.cli.models.table import size_text
from engine.cli.models.verb import add_verb
from engine.cli.progress import ProgressLine
from engine.cli.terminal import printable, write_json
from engine.download.line import Hub
from engine.download.manager import DownloadOptions, Downloads
from engine.download.progress import DownloadProgress, DownloadState
from engine.errors import SlipstreamError
from engine.folders import models_folder
from engine.hub.resolve import resolve_bundle
from engine.hub.token import read_token
from engine.models.remote import RemoteBundle

_POLL_S = 0.2
_PATIENCE_S = 3.0
_EXIT_SIGNAL_BASE = 128
_DIGITS = re.compile(r"\d+")


def add_download(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `slipstream models download`."""
    summary = "download a bundle, or files of a repository; Ctrl-C pauses, the same command goes on"
    parser = add_verb(verbs, "download", summary, download)
    parser.add_argument("name", metavar="BUNDLE|REPO", help="a bundle's id, or owner/name")
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="files or quantisations of the repository (default: the usual one)",
    )


def download(given: argparse.Namespace) -> int:
    """Download what is named and say where it is; a signal pauses, and its number makes the exit code."""
    with contextlib.closing(open_hub()) as client:
        bundle = choose_remote(given.name, given.files, client)
        options = DownloadOptions(resolve=lambda unpinned: resolve_bundle(unpinned, client))
        hub = Hub(client.endpoint, lambda: read_token() or None)
        last, signal_number = _follow(Downloads(models_folder(), hub, options), bundle)
    if last is not None and last.state is not DownloadState.DONE and last.sentence:
        raise SlipstreamError(last.sentence, remedy=last.remedy, detail=last.detail)
    if last is None or last.state is not DownloadState.DONE:
        so_far = f" at {last.fraction:.0%}" if last is not None and last.size_bytes else ""
        print(f"slipstream: paused{so_far}; the same command goes on from there.", file=sys.stderr)
        return _EXIT_SIGNAL_BASE + (signal_number or signal.SIGINT)
    _tell(last, given.json)
    return 0


def _tell(done: DownloadProgress, as_json: bool) -> None:
    paths = [str(file_path(models_folder(), file)) for file in done.bundle.files]
    if as_json:
        told = {
            "id": done.id,
            "size_bytes": done.size_bytes,
            "drafter_kind": done.bundle.drafter_kind,
            "files": paths,
        }
        write_json(msgspec.json.encode(told).decode())
        return
    print(printable(f"{done.id} is here: {size_text(done.size_bytes)}."))
    for path in paths:
        print(printable(f"  {path}"))


def _follow(downloads: Downloads, bundle: RemoteBundle) -> tuple[DownloadProgress | None, int]:
    """Run one download to its end, or until a signal has paused it; return what was told last, and the signal."""
    news: queue.SimpleQueue[DownloadProgress | int] = queue.SimpleQueue()
    last: DownloadProgress | None = None
    interrupted_by, deadline_s = 0, float("inf")
    told: set[str] = set()
    with _signals_to(news), ProgressLine() as line:
        downloads.start(news.put)
        try:
            downloads.download(bundle)
            while time.monotonic() < deadline_s:
                # Without a timeout Windows would not run signal handlers while we wait.
                with contextlib.suppress(queue.Empty):
                    event = news.get(timeout=_POLL_S)
                    if isinstance(event, int):
                        # The second signal does not wait for a clean pause.
                        deadline_s = time.monotonic() + (0.0 if interrupted_by else _PATIENCE_S)
                        interrupted_by = event
                        downloads.pause(bundle.id)
                    elif event.id == bundle.id and (last is not None or event.state.is_active):
                        # What an earlier run left is told as paused before this one begins.
                        last = event
                        _tell_of_waiting(event, told, line)
                        line.show(progress_text(event))
                        if not event.state.is_active:
                            break
        finally:
            downloads.stop()
    return last, interrupted_by


def _tell_of_waiting(event: DownloadProgress, told: set[str], line: ProgressLine) -> None:
    """Say once why nothing comes; the seconds in a sentence do not make it another one."""
    reason = _DIGITS.sub("", event.sentence)
    if event.state is DownloadState.STALLED and reason and reason not in told:
        told.add(reason)
        line.note(f"slipstream: {event.id}: {event.sentence}")


@contextlib.contextmanager
def _signals_to(news: queue.SimpleQueue[DownloadProgress | int]) -> Iterator[None]:
    def handler(number: int, _: FrameType | None) -> None:
        news.put(number)

    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def progress_text(progress: DownloadProgress) -> str:
    """Return one line: "gemma-4-e4b: 37 %, 1.84 GB of 4.98 GB, 12 MB/s, 4 min left"."""
    parts = [f"{progress.id}: {progress.fraction:.0%}"]
    if progress.size_bytes:
        done = size_text(progress.done_bytes) if progress.done_bytes else "0"
        parts.append(f"{done} of {size_text(progress.size_bytes)}")
    if progress.state is DownloadState.RUNNING and progress.bytes_per_s:
        parts.append(f"{size_text(int(progress.bytes_per_s))}/s")
    elif progress.state is not DownloadState.RUNNING:
        parts.append(str(progress.state))
    if progress.left_s is not None:
        parts.append(_left_text(progress.left_s))
    return ", ".join(parts)


def _left_text(left_s: float) -> str:
    if left_s < 60:
        return f"{left_s:.0f} s left"
    return f"{left_s / 60:.0f} min left" if left_s < 5400 else f"{left_s / 3600:.1f} h left"
