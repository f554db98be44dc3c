"""All downloads: begun, paused, resumed and told of, over restarts of Slipstream."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from engine.bundles.names import check_bundle
from engine.download import disk
from engine.download.bundle_download import BundleDownload, Surroundings, Wanted
from engine.download.contents import ReadFacts
from engine.download.jobs import read_jobs, sweep
from engine.download.line import Hub
from engine.download.progress import DownloadProgress, DownloadState
from engine.download.transfer import TransferSettings
from engine.errors import BadOption, DiskFull
from engine.models.facts import read_facts
from engine.models.remote import RemoteBundle

_log = logging.getLogger(__name__)

TICK_S = 0.25
ROOM_CHECK_S = 2.0


def _as_it_is(bundle: RemoteBundle) -> RemoteBundle:
    return bundle


@dataclass(frozen=True)
class DownloadOptions:
    """How downloads behave. `resolve` asks the Hub for what is not pinned yet; `free_bytes` asks the disk.

    `read_facts` looks into what arrived; None: bundles may hold anything.
    """

    resolve: Callable[[RemoteBundle], RemoteBundle] = _as_it_is
    read_facts: ReadFacts | None = read_facts
    free_bytes: Callable[[Path], int] = disk.free_bytes
    transfer: TransferSettings = field(default_factory=TransferSettings)
    n_streams: int = 3


class Downloads:
    """The downloads into one folder. No method but `start` and `stop` waits for the network or for what is written;
    `download` asks the disk how much there is of each file.

    `on_progress` is called on one thread of its own: at each change of state, and at most four times a second for each
    download while bytes come. What it raises is logged.
    """

    def __init__(self, folder: Path, hub: Hub | None = None, options: DownloadOptions | None = None) -> None:
        options = options or DownloadOptions()
        self._folder = folder
        self._free_bytes = options.free_bytes
        self._news: queue.SimpleQueue[DownloadProgress | None] = queue.SimpleQueue()
        self._downloads: dict[str, BundleDownload] = {}
        self._lock = threading.Lock()
        self._teller: threading.Thread | None = None
        self._interrupted: list[str] = []
        self._around = Surroundings(
            folder,
            hub or Hub(),
            options.transfer,
            threading.BoundedSemaphore(options.n_streams),
            options.n_streams,
            options.resolve,
            options.read_facts,
            self._check_room,
            self._news.put,
        )

    def start(self, on_progress: Callable[[DownloadProgress], None]) -> None:
        """Begin; what an earlier run left is told as paused, or failed if it had failed. `go_on` resumes some of it."""
        listener = _unbreakable(on_progress)
        self._teller = threading.Thread(target=self._tell, args=(listener,), name="downloads", daemon=True)
        self._teller.start()
        for job in read_jobs(self._folder):
            download = BundleDownload.from_job(job, self._around)
            with self._lock:
                self._downloads[job.bundle.id] = download
            if job.state is DownloadState.CANCELLED:
                download.want(Wanted.CANCEL)
            else:
                self._news.put(download.progress())
                if job.state.is_active:
                    self._interrupted.append(job.bundle.id)
        sweep(self._folder)

    def go_on(self) -> None:
        """Resume what was running when the last run ended, by a kill or in good order; who paused one wants it so."""
        interrupted, self._interrupted = self._interrupted, []
        for download_id in interrupted:
            self.resume(download_id)

    def stop(self, timeout_s: float = 1.0) -> None:
        """Leave everything for the next start and end all threads."""
        deadline_s = time.monotonic() + timeout_s
        downloads = self._all()
        for download in downloads:
            download.want(Wanted.QUIT)
        for download in downloads:
            if (thread := download.thread) is not None:
                thread.join(max(deadline_s - time.monotonic(), 0.0))
        if self._teller is not None:
            self._news.put(None)
            self._teller.join(max(deadline_s - time.monotonic(), 0.05))

    def progress(self) -> tuple[DownloadProgress, ...]:
        """Return every download that was not dismissed, in the order in which they began."""
        return tuple(download.progress() for download in self._all() if not download.is_dismissed)

    def download(self, bundle: RemoteBundle) -> None:
        """Begin `bundle`, or go on with it. Raise UnsafeName."""
        check_bundle(bundle)
        new = BundleDownload(bundle, self._around)
        with self._lock:
            download = self._downloads.get(bundle.id, new)
            if download is new or _is_superseded(download, bundle):
                self._downloads[bundle.id] = download = new
            download.is_dismissed = False
        download.want(Wanted.RUN)

    def pause(self, download_id: str) -> None:
        """Keep what there is; raise BadOption for an unknown id, as the methods below do."""
        self._find(download_id).pause()

    def resume(self, download_id: str) -> None:
        """Go on with one that is paused or has failed."""
        download = self._find(download_id)
        if not download.state.is_over:
            download.want(Wanted.RUN)

    def cancel(self, download_id: str) -> None:
        """Stop it and delete what there is of it."""
        download = self._find(download_id)
        if not download.state.is_over:
            download.want(Wanted.CANCEL)

    def dismiss(self, download_id: str) -> None:
        """Forget one that is done, failed or cancelled; what there is of a failed one is deleted."""
        download = self._find(download_id)
        if download.state is DownloadState.FAILED:
            download.is_dismissed = True
            download.want(Wanted.CANCEL)
        elif download.state.is_over:
            with self._lock:
                self._downloads.pop(download_id, None)

    def _find(self, download_id: str) -> BundleDownload:
        with self._lock:
            download = self._downloads.get(download_id)
        if download is None:
            raise BadOption(f"There is no download called {download_id}.")
        return download

    def _all(self) -> tuple[BundleDownload, ...]:
        with self._lock:
            return tuple(self._downloads.values())

    def _check_room(self) -> None:
        """Check the room for everything still to come over all running downloads. Raise DiskFull."""
        to_come: dict[tuple[str, str, str], int] = {}
        for download in self._all():
            # A file that two bundles share comes once.
            to_come.update(download.to_come_bytes())
        disk.check_room(self._folder, sum(to_come.values()), self._free_bytes(self._folder))

    def _tell(self, on_progress: Callable[[DownloadProgress], None]) -> None:
        """Tell of changes as they come and of bytes four times a second, until `stop`."""
        told: dict[str, DownloadProgress] = {}
        next_tick_s = time.monotonic() + TICK_S
        next_room_s = time.monotonic() + ROOM_CHECK_S
        while True:
            with suppress(queue.Empty):
                news = self._news.get(timeout=max(next_tick_s - time.monotonic(), 0.0))
                if news is None:
                    return
                told[news.id] = news
                on_progress(news)
            if (now_s := time.monotonic()) >= next_tick_s:
                next_tick_s = now_s + TICK_S
                self._tick(on_progress, told)
            if now_s >= next_room_s:
                next_room_s = now_s + ROOM_CHECK_S
                self._pause_for_room()

    def _tick(
        self, on_progress: Callable[[DownloadProgress], None], told: dict[str, DownloadProgress]
    ) -> None:
        for download in self._all():
            if download.thread is None:
                continue
            download.sample_speed(time.monotonic())
            progress, last = download.progress(), told.get(download.bundle.id)
            # A change of state is on its way through the queue, and is told in its turn.
            if last is not None and last.state is progress.state and last != progress:
                told[progress.id] = progress
                on_progress(progress)

    def _pause_for_room(self) -> None:
        """Pause the download that began last if something else has taken the room; the next check sees the rest."""
        try:
            self._check_room()
        except DiskFull as error:
            for download in reversed(self._all()):
                if download.to_come_bytes():
                    download.pause(error)
                    return


def _unbreakable(on_progress: Callable[[DownloadProgress], None]) -> Callable[[DownloadProgress], None]:
    """Return `on_progress` as one whose mistakes do not end the telling."""

    def tell(progress: DownloadProgress) -> None:
        try:
            on_progress(progress)
        except Exception:  # noqa: BLE001  told to the log; what comes next is to be heard all the same
            _log.exception("A listener of the downloads failed")

    return tell


def _is_superseded(download: BundleDownload, bundle: RemoteBundle) -> bool:
    """Whether a new download takes its place: it is over, or it has failed and other files are asked for now."""
    has_failed = download.state is DownloadState.FAILED and download.thread is None
    return download.state.is_over or (has_failed and download.bundle != bundle)
