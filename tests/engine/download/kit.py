"""What the tests of downloads share: bundles of a repository's files, and downloads that remember what they told."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path

from engine.download.line import Hub
from engine.download.manager import DownloadOptions, Downloads
from engine.download.progress import DownloadProgress, DownloadState
from engine.download.transfer import TransferSettings
from engine.models.bundle import DrafterKind
from engine.models.remote import RemoteBundle, RemoteFile
from tests.hub_server.repository import Repository

HASTY = TransferSettings(
    stall_s=0.5,
    connect_s=2.0,
    first_backoff_s=0.02,
    max_backoff_s=0.1,
    max_server_failures=4,
    max_network_failures=8,
)


def some_bytes(n_bytes: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(n_bytes)


def remote_file(repo: Repository, path: str, *, pinned: bool = True) -> RemoteFile:
    """Return a file of the repository's last commit, pinned or by the name of its branch only."""
    if not pinned:
        return RemoteFile(repo.id, path)
    file = repo.head.files[path]
    sha256 = file.sha256 if file.is_lfs else ""
    return RemoteFile(repo.id, path, repo.head.sha, len(file.content), sha256)


def bundle_of(
    repo: Repository,
    *target: str,
    drafter: tuple[str, ...] = (),
    bundle_id: str = "bundle",
    pinned: bool = True,
) -> RemoteBundle:
    kind = DrafterKind.MODEL if drafter else DrafterKind.NGRAM
    return RemoteBundle(
        bundle_id,
        bundle_id,
        tuple(remote_file(repo, path, pinned=pinned) for path in target),
        kind,
        tuple(remote_file(repo, path, pinned=pinned) for path in drafter),
    )


class Running:
    """Downloads, and everything that they told in order."""

    def __init__(self, folder: Path, source: Hub, options: DownloadOptions | None = None) -> None:
        self.folder = folder
        self.told: list[DownloadProgress] = []
        self._changed = threading.Condition()
        self.downloads = Downloads(
            folder, source, options or DownloadOptions(read_facts=None, transfer=HASTY)
        )
        self.downloads.start(self._hear)

    def _hear(self, progress: DownloadProgress) -> None:
        with self._changed:
            self.told.append(progress)
            self._changed.notify_all()

    def wait_for(self, *states: DownloadState, download_id: str = "bundle") -> DownloadProgress:
        """Wait until the last thing told of the download is one of `states`."""
        return self.wait_until(lambda last: last.state in states, download_id)

    def wait_for_bytes(self, at_least: int, download_id: str = "bundle") -> None:
        self.wait_until(lambda last: last.done_bytes >= at_least, download_id)

    def wait_until(
        self,
        is_there: Callable[[DownloadProgress], bool],
        download_id: str = "bundle",
        timeout_s: float = 20.0,
    ) -> DownloadProgress:
        """Wait until `is_there` of the last thing told of the download, and return that."""
        with self._changed:
            self._changed.wait_for(lambda: any(map(is_there, self._last(download_id))), timeout_s)
            (last,) = self._last(download_id)
            assert is_there(last), self.told[-3:]
            return last

    def states(self, download_id: str = "bundle") -> list[DownloadState]:
        """Return the states in their order, each once until it changes."""
        found: list[DownloadState] = []
        for progress in self.told:
            if progress.id == download_id and progress.state not in found[-1:]:
                found.append(progress.state)
        return found

    def stop(self) -> None:
        self.downloads.stop()

    def _last(self, download_id: str) -> list[DownloadProgress]:
        return [told for told in self.told if told.id == download_id][-1:]
