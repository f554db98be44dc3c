"""What the Hub says a file is now: where its bytes are, how many, and by which hash they are known."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from engine.download.line import MAX_REDIRECTS, Line, is_same_origin, redirect_target
from engine.download.refusals import check_answer
from engine.errors import ChangedOnHub, DownloadBroken
from engine.hub.told import SHA256, told_by
from engine.models.remote import RemoteFile

_GIT_BLOB = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Located:
    """`file` at its commit with its size; `etag` is the sha256 of an LFS file, git's blob hash of a small one.

    `url` may be signed and short-lived: it is asked for anew for each connection.
    """

    file: RemoteFile
    etag: str
    url: str

    @property
    def sha256(self) -> str:
        """Return the sha256 that the bytes must have, "" if only git's hash is known."""
        return self.file.sha256

    @property
    def git_blob(self) -> str:
        return self.etag if _GIT_BLOB.fullmatch(self.etag) else ""


def locate(line: Line, file: RemoteFile) -> Located:
    """Ask the Hub where `file` is and check that it is still the one that was pinned, before any byte of it.

    Raise Stopped, Busy, ChangedOnHub, DownloadBroken, httpx2.TransportError, or what the Hub's client raises.
    """
    url = line.hub.address(file)
    found: dict[str, str] = {}
    for _ in range(MAX_REDIRECTS):
        with line.request("HEAD", url) as response:
            is_hub = is_same_origin(url, line.hub.endpoint)
            check_answer(response, file, line.hub.endpoint, from_hub=is_hub)
            found = told_by([response]) | found
            target = redirect_target(url, response)
        if not target:
            break
        is_enough = {"etag", "size", "commit"} <= found.keys()
        url = target
        if is_enough and not is_same_origin(url, line.hub.endpoint):
            break
    return _checked(file, found, url)


def _checked(file: RemoteFile, found: dict[str, str], url: str) -> Located:
    etag = found.get("etag", "")
    size = found.get("size", "")
    size_bytes = int(size) if size.isdecimal() else file.size_bytes
    changed = bool(file.size_bytes) and size_bytes != file.size_bytes
    if file.sha256 and SHA256.fullmatch(etag):
        changed = changed or etag != file.sha256
    if changed:
        raise ChangedOnHub(
            f"{file.name} on the Hub has changed since it was checked; nothing was downloaded.",
            remedy="Look for a newer version of this bundle, or choose the file anew from its repository.",
            detail=f"{file.repo}/{file.path}: {file.sha256} ({file.size_bytes}) → {etag} ({size_bytes})",
        )
    sha256 = file.sha256 or (etag if SHA256.fullmatch(etag) else "")
    commit = file.revision if file.is_at_commit else found.get("commit", "")
    told = msgspec.structs.replace(file, revision=commit, size_bytes=size_bytes, sha256=sha256)
    located = Located(told, etag, url)
    if not (located.sha256 or located.git_blob) or not size_bytes or not told.is_at_commit:
        raise DownloadBroken(
            f"The server does not say what {file.name} must be, so it could not be checked.",
            remedy="Use the Hub itself instead of a mirror, or choose another file.",
            detail=f"commit {commit!r}, ETag {etag!r}, size {size!r} for {file.repo}/{file.path}"[:300],
        )
    return located
