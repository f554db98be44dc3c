"""Filling a partial: one connection after another continues it, and none may bring another version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

import httpx2
import msgspec

from engine.download.line import MAX_REDIRECTS, Line, is_same_origin, redirect_target
from engine.download.located import Located, locate
from engine.download.partial import (
    AppendedFile,
    Digest,
    Partial,
    PartialRecord,
    digest_for,
    feed_file,
)
from engine.download.progress import DownloadState
from engine.download.refusals import check_answer
from engine.download.switch import Switch
from engine.models.gguf_header import not_gguf

MAX_REQUEST_BYTES = 4 << 30
"""Asked for at once: the Hub's storage refuses answers beyond 50 GB, and its signed addresses run out."""
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class FileReport(Protocol):
    """Who is told how one file goes on; called on the transfer's thread."""

    def state(self, state: DownloadState, sentence: str = "") -> None: ...

    def bytes(self, done_bytes: int, fetched_bytes: int = 0) -> None:
        """`done_bytes` are on disk; `fetched_bytes` of them just came from the network."""


class OtherVersion(Exception):
    """The storage sends something that does not continue what is here."""


@dataclass
class Filling:
    """A partial that is open for appending, with the digest of what is in it."""

    partial: Partial
    located: Located
    switch: Switch
    report: FileReport
    record: PartialRecord
    digest: Digest
    file: AppendedFile
    begins_with: bytes = b""
    done_bytes: int = 0
    _fresh_url: str = ""
    _has_progress: bool = False

    @classmethod
    def open(
        cls, partial: Partial, located: Located, switch: Switch, report: FileReport, begins_with: bytes = b""
    ) -> Filling:
        """Hash what is there already, then append. Raise Stopped or OSError."""
        record = partial.keep_only(located)
        digest = digest_for(located)
        done_bytes = 0
        if partial.size_bytes:
            report.state(DownloadState.CHECKING)
            done_bytes = feed_file(digest, partial.path, switch)
        file = AppendedFile.open(partial.path)
        return cls(
            partial, located, switch, report, record, digest, file, begins_with, done_bytes, located.url
        )

    def take_progress(self) -> bool:
        """Whether bytes came since the last call."""
        came, self._has_progress = self._has_progress, False
        return came

    def restart(self) -> None:
        """Throw away what is here and accept whatever version the storage sends next."""
        self.file.truncate()
        self.digest = digest_for(self.located)
        self.done_bytes = 0
        self._remember("")
        self.report.bytes(0)

    def receive(self, line: Line) -> None:
        """Append what one connection brings, up to the file's size.

        Raise OtherVersion, DiskFull, NotAModelFile, and what `locate` raises.
        """
        # The address that was told at the start serves once; later ones may find it run out.
        url, self._fresh_url = self._fresh_url or locate(line, self.located.file).url, ""
        for _ in range(MAX_REDIRECTS):
            with line.request("GET", url, self._range_headers()) as response:
                target = redirect_target(url, response)
                if not target:
                    self._check(line, url, response)
                    self._append_all(response)
                    return
            url = target
        raise httpx2.RemoteProtocolError("too many redirects")

    def _range_headers(self) -> dict[str, str]:
        size_bytes = self.located.file.size_bytes
        end = min(self.done_bytes + MAX_REQUEST_BYTES, size_bytes)
        if not self.done_bytes and end == size_bytes:
            return {}
        headers = {"Range": f"bytes={self.done_bytes}-{end - 1}"}
        # A weak ETag does not promise the same bytes, and If-Range may not be used with one.
        if self.done_bytes and self.record.storage_etag and not self.record.storage_etag.startswith("W/"):
            headers["If-Range"] = self.record.storage_etag
        return headers

    def _check(self, line: Line, url: str, response: httpx2.Response) -> None:
        """Let only an answer through that continues what is here."""
        status, headers = response.status_code, response.headers
        is_hub = is_same_origin(url, line.hub.endpoint)
        check_answer(response, self.located.file, line.hub.endpoint, from_hub=is_hub)
        etag = headers.get("ETag", "")
        known = self.record.storage_etag
        if known and etag and etag != known:
            raise OtherVersion
        if status == 206:
            match = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
            sizes = ("*", str(self.located.file.size_bytes))
            if match is None or int(match[1]) != self.done_bytes or match[2] not in sizes:
                raise OtherVersion
        elif status != 200 or self.done_bytes:
            raise OtherVersion
        if etag != known:
            self._remember(etag or known)

    def _append_all(self, response: httpx2.Response) -> None:
        size_bytes = self.located.file.size_bytes
        self._has_progress = False
        for data in response.iter_raw():
            self.switch.check()
            wanted = data[: size_bytes - self.done_bytes]
            self._check_start(wanted)
            self.file.append(wanted)
            self.digest.feed(wanted)
            self.done_bytes += len(wanted)
            if not self._has_progress:
                self._has_progress = True
                self.report.state(DownloadState.RUNNING)
            self.report.bytes(self.done_bytes, len(wanted))
            if self.done_bytes == size_bytes:
                return
        self.switch.check()
        if not self._has_progress:
            raise httpx2.RemoteProtocolError("the answer was empty")

    def _check_start(self, data: bytes) -> None:
        """Refuse a web page under a model's name with its first bytes, not after gigabytes of it."""
        start = data[: len(self.begins_with)]
        if not self.done_bytes and not self.begins_with.startswith(start):
            raise not_gguf(self.located.file.name)

    def _remember(self, storage_etag: str) -> None:
        self.record = msgspec.structs.replace(self.record, storage_etag=storage_etag)
        self.partial.write_record(self.record)
