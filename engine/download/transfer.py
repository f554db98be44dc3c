"""One file from the Hub to its final name: resumed where it stopped, checked before it gets the name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import httpx2
import msgspec

from engine.atomic_file import replace_patiently
from engine.bundles.store import file_path
from engine.download.filling import FileReport, Filling, OtherVersion
from engine.download.line import Hub, Line, open_line
from engine.download.located import Located, locate
from engine.download.partial import Digest, Partial, digest_for, feed_file, held, partial_of
from engine.download.progress import DownloadState
from engine.download.switch import Switch
from engine.errors import ChangedOnHub, DamagedDownload, SlipstreamError
from engine.hub.failures import Busy, failure_of_exception
from engine.models.remote import RemoteFile

T = TypeVar("T")
MAX_RESTARTS = 2


@dataclass(frozen=True)
class TransferSettings:
    """Patience. Failures are counted since the last byte.

    `max_server_failures` for answers that say no (5xx, 429, other versions), `max_network_failures` for a connection
    that is not there: at 30 s each a night of 1000.
    """

    stall_s: float = 20.0
    connect_s: float = 10.0
    first_backoff_s: float = 0.5
    max_backoff_s: float = 30.0
    max_server_failures: int = 10
    max_network_failures: int = 1000
    max_mismatches: int = 3


@dataclass(frozen=True)
class Transfer:
    """One file's transfer. `file` is at a commit; its sha256 may be unknown, then the Hub's ETag is what counts.

    `begins_with` is what its first bytes must be, if anything.
    """

    file: RemoteFile
    folder: Path
    hub: Hub
    switch: Switch
    report: FileReport
    settings: TransferSettings = TransferSettings()
    begins_with: bytes = b""

    def run(self) -> RemoteFile:
        """Fetch the file, or what is missing of it; return it with its sha256.

        Raise Stopped, ChangedOnHub, DamagedDownload, NotAModelFile, DiskFull, UnsafeName, OSError, or what the Hub's
        client raises.
        """
        settings = self.settings
        with open_line(self.hub, self.switch, settings.stall_s, settings.connect_s) as line:
            located = self._patiently(lambda: locate(line, self.file))
            target = file_path(self.folder, located.file)
            partial = partial_of(self.folder, located.file)
            with held(partial, self.switch, lambda: self.report.bytes(partial.size_bytes)):
                self.report.bytes(partial.size_bytes)
                digest = self._adopt(target, located)
                if digest is None:
                    digest = self._fetch(line, partial, located)
                    _name(partial.path, target)
                partial.discard()
        self.report.bytes(located.file.size_bytes)
        return msgspec.structs.replace(located.file, sha256=digest.sha256)

    def locate(self) -> RemoteFile:
        """Ask the Hub for the file's commit and size, and its sha256 where it tells one; errors as for `run`."""
        with open_line(self.hub, self.switch, self.settings.stall_s, self.settings.connect_s) as line:
            return self._patiently(lambda: locate(line, self.file)).file

    def _adopt(self, target: Path, located: Located) -> Digest | None:
        """Return the digest of a file that already has its final name and is right; another one is deleted."""
        if not target.is_file():
            return None
        self.report.state(DownloadState.CHECKING)
        digest = digest_for(located)
        if feed_file(digest, target, self.switch) == located.file.size_bytes and digest.is_of(located):
            return digest
        target.unlink()
        return None

    def _fetch(self, line: Line, partial: Partial, located: Located) -> Digest:
        """Fill the partial until it is whole and right; a damaged one is thrown away once."""
        for is_last in (False, True):
            digest = self._fill(line, partial, located)
            # More on the disk than went through the digest: another process has written there too.
            if digest.is_of(located) and partial.size_bytes == located.file.size_bytes:
                return digest
            partial.discard()
            self.report.bytes(0)
            if not is_last:
                self.report.state(
                    DownloadState.STALLED, "What arrived was damaged; the file is fetched again."
                )
        raise DamagedDownload(
            f"{self.file.name} arrived damaged twice and was thrown away.",
            remedy="Retry later or on another network; something between the Hub and here changes the file.",
            detail=f"sha256 {digest.sha256}, expected {located.sha256 or located.git_blob}",
        )

    def _fill(self, line: Line, partial: Partial, located: Located) -> Digest:
        """Receive until the length is right and on the disk for good; return the digest of all of it."""
        filling = Filling.open(partial, located, self.switch, self.report, self.begins_with)
        mismatches = restarts = 0
        try:
            while filling.done_bytes < located.file.size_bytes:
                before = filling.done_bytes
                try:
                    self._patiently(lambda: filling.receive(line), filling.take_progress)
                except OtherVersion:
                    mismatches = 1 if filling.done_bytes > before else mismatches + 1
                    if mismatches >= self.settings.max_mismatches:
                        # It goes on sending another version, or whole files: begin again with what it has.
                        mismatches, restarts = 0, restarts + 1
                        if restarts > MAX_RESTARTS:
                            raise _unsteady(located.file) from None
                        filling.restart()
                    self.switch.sleep(self.settings.first_backoff_s)
            filling.file.sync()
        finally:
            filling.file.close()
        return filling.digest

    def _patiently(self, ask: Callable[[], T], made_progress: Callable[[], bool] = lambda: False) -> T:
        """Ask until there is an answer, with growing waits; a byte that came makes up for all failures before."""
        server_failures = network_failures = 0
        while True:
            try:
                return ask()
            except Busy as error:
                cause: Exception = error
                wait_s = error.wait_s
                server_failures += 1
            except httpx2.TransportError as error:
                cause, wait_s = error, None
                network_failures += 1
            came = made_progress()
            if came:
                server_failures, network_failures = min(server_failures, 1), min(network_failures, 1)
            limits = self.settings
            if (
                server_failures > limits.max_server_failures
                or network_failures > limits.max_network_failures
                or _is_for_good(cause)
            ):
                raise _failure(self.hub.address(self.file), cause) from cause
            if not came or isinstance(cause, Busy | httpx2.TimeoutException):
                self.report.state(DownloadState.STALLED, _waiting_sentence(cause, wait_s))
            n_failures = server_failures + network_failures
            backoff_s = min(limits.first_backoff_s * 2 ** min(n_failures - 1, 16), limits.max_backoff_s)
            self.switch.sleep(backoff_s if wait_s is None else max(wait_s, limits.first_backoff_s))


def _name(path: Path, target: Path) -> None:
    """Give the file its final name; removing another bundle may delete the new folder while it is empty."""
    for is_last in (False, True):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            replace_patiently(path, target)
            return
        except FileNotFoundError:
            if is_last:
                raise


def _waiting_sentence(cause: Exception, wait_s: float | None) -> str:
    if isinstance(cause, Busy) and wait_s is not None and wait_s >= 1:
        return f"The Hub asks to wait {wait_s:.0f} s."
    if isinstance(cause, Busy):
        return f"{cause.failure.sentence.rstrip('.')}; trying again."
    if isinstance(cause, httpx2.TimeoutException):
        return "No data is coming; trying a new connection."
    if isinstance(cause, httpx2.ConnectError):
        return "The Hub cannot be reached; trying again."
    return "The connection was lost; trying again."


def _is_for_good(cause: Exception) -> bool:
    """Whether no later try can do better."""
    is_untrusted = "CERTIFICATE_VERIFY_FAILED" in str(cause)
    return is_untrusted or isinstance(cause, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError)


def _unsteady(file: RemoteFile) -> ChangedOnHub:
    return ChangedOnHub(
        f"The server sends different versions of {file.name}, so its parts cannot be put together.",
        remedy="Retry later; a file that was just uploaded may take a while to be the same everywhere.",
        detail=f"{file.repo}/{file.path} at {file.revision}",
    )


def _failure(url: str, cause: Exception) -> SlipstreamError:
    return cause.failure if isinstance(cause, Busy) else failure_of_exception(cause, url)
