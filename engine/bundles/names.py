"""Names from the network, checked so that no file leaves its folder or has a name that some system refuses."""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.errors import UnsafeName
from engine.models.remote import RemoteBundle, RemoteFile

MAX_PART_BYTES = 255
MAX_ID_BYTES = 200
"""Leaves room for what is put around an id to make a file name of it."""
_REPO = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*/[A-Za-z0-9_][A-Za-z0-9._-]*")
_REVISION = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"/|?*\\]')
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{name}{digit}" for name in ("com", "lpt") for digit in "0123456789¹²³"}
)


def check_file(file: RemoteFile) -> None:
    """Check repository, revision and path. Raise UnsafeName."""
    # Two hyphens stand for the slash in the cache's folder names; the Hub forbids them in a name.
    if not _REPO.fullmatch(file.repo) or "--" in file.repo or ".." in file.repo:
        raise _unsafe(file.repo, "it is not a repository's name")
    if not _REVISION.fullmatch(file.revision) or ".." in file.revision:
        raise _unsafe(file.revision, "it is not a revision")
    for part in (*file.repo.split("/"), *file.revision.split("/"), *file.path.split("/")):
        check_part(part)


def check_part(part: str) -> None:
    """Check one folder's or file's name by the rules of every system at once. Raise UnsafeName."""
    if part in ("", ".", ".."):
        raise _unsafe(part, "it points out of its folder")
    if _FORBIDDEN.search(part):
        raise _unsafe(part, "it holds characters that a file name may not hold")
    if part.endswith((".", " ")):
        raise _unsafe(part, "Windows drops dots and spaces at the end")
    if part.partition(".")[0].rstrip(" ").casefold() in _DEVICES:
        raise _unsafe(part, "Windows keeps this name for a device")
    try:
        length = len(part.encode())
    except UnicodeEncodeError:
        raise _unsafe(part, "it is not valid Unicode") from None
    if length > MAX_PART_BYTES:
        raise _unsafe(part[:40] + "…", f"it is longer than {MAX_PART_BYTES} bytes")


def check_bundle(bundle: RemoteBundle) -> None:
    """Check the id and all files, and that no two files would be one on a disk that ignores case."""
    check_part(bundle.id)
    if len(bundle.id.encode()) > MAX_ID_BYTES:
        raise _unsafe(bundle.id[:40] + "…", f"it is longer than {MAX_ID_BYTES} bytes")
    for file in bundle.files:
        check_file(file)
    if twice := _same_on_disk(bundle.files):
        raise _unsafe(twice, "another file of the bundle has the same name but for upper and lower case")


def _same_on_disk(files: Iterable[RemoteFile]) -> str:
    seen: dict[tuple[str, str, str], RemoteFile] = {}
    for file in files:
        key = (file.repo.casefold(), file.revision, file.path.casefold())
        other = seen.setdefault(key, file)
        if other.path != file.path:
            return file.path
    return ""


def _unsafe(name: str, why: str) -> UnsafeName:
    return UnsafeName(
        f"The name “{ascii(name)[1:-1]}” cannot be used for a file on this computer: {why}.",
        remedy="Choose another file or another repository.",
    )
