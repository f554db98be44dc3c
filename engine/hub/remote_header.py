"""Headers of models that are not here: fetched once, kept as sparse files that look like the models to llama.cpp."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final

import httpx2
import msgspec

from engine.errors import Offline, SlipstreamError
from engine.hub.connection import (
    IsCancelled,
    OnContact,
    never_cancelled,
    nobody_hears,
    open_client,
    told_if_offline,
)
from engine.hub.range_source import Identity, RangeSource
from engine.json_file import read_json, write_json
from engine.models.bundle import Bundle, DrafterChoice
from engine.models.gguf_header import check_complete, parse_header
from engine.models.parts import part_names
from engine.models.remote import RemoteBundle, RemoteFile
from engine.models.sparse_file import write_sparse

MOST_KEPT: Final = 256
_UNSAFE: Final = re.compile(r"[^\w.+() -]", re.ASCII)
_MAX_NAME: Final = 150
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
OpenHttp = Callable[[], httpx2.Client]
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)\.", re.IGNORECASE)


def fetch_header(
    remote: RemoteFile,
    folder: Path,
    *,
    token: str = "",
    endpoint: str = "",
    is_cancelled: IsCancelled = never_cancelled,
    on_contact: OnContact = nobody_hears,
    open_http: OpenHttp | None = None,
    parts: Sequence[RemoteFile] = (),
) -> Path:
    """Return a file in `folder` that has the header of `remote` and its length, and nothing else.

    Of a model in several files `remote` is the first one, and all are fetched: those of `parts`, else those that its
    name tells. What is there already is returned at once, without asking the Hub, if `remote` is pinned to a commit or
    a sha256. Any other is asked for each time; without a connection what was there last time is returned. `open_http`
    gives a client that stays open; None: one is made for this. Raises what RangeSource and open_client raise, and
    NoSparseFiles.
    """
    files = tuple(parts) or tuple(_renamed(remote, name) for name in part_names(remote.name))
    known = cached_header(remote, folder, parts=files)
    if known is not None:
        return known
    try:
        with told_if_offline(on_contact), _http(open_http) as http:
            open_source = partial(
                RangeSource,
                client=http,
                token=token,
                endpoint=endpoint,
                is_cancelled=is_cancelled,
                on_contact=on_contact,
            )
            own = _fetch(remote, files, folder, open_source)
    except Offline:
        last = _last_known(remote, folder, files)
        if last is None:
            raise
        return last
    if own.name not in _keys(remote):
        _remember(remote, folder, own.name)
    prune_headers(folder)
    return own / _safe_name(files[0])


def fetch_bundle_headers(
    bundle: RemoteBundle,
    folder: Path,
    *,
    token: str = "",
    endpoint: str = "",
    is_cancelled: IsCancelled = never_cancelled,
    on_contact: OnContact = nobody_hears,
    open_http: OpenHttp | None = None,
) -> Bundle:
    """Return `bundle` as one of header-only files in `folder`, for budgets and verdicts; raises as fetch_header."""
    fetch = partial(
        fetch_header,
        folder=folder,
        token=token,
        endpoint=endpoint,
        is_cancelled=is_cancelled,
        on_contact=on_contact,
        open_http=open_http,
    )
    paths = [str(fetch(files[0], parts=files)) for files in (bundle.target, bundle.drafter) if files]
    drafter = DrafterChoice(bundle.drafter_kind, paths[1] if bundle.drafter else "")
    return Bundle(bundle.name, paths[0], drafter)


def cached_header(remote: RemoteFile, folder: Path, *, parts: Sequence[RemoteFile] = ()) -> Path | None:
    """Return what fetch_header has put into `folder` for a pinned file; None if the Hub has to be asked."""
    files = tuple(parts) or tuple(_renamed(remote, name) for name in part_names(remote.name))
    for key in _keys(remote):
        paths = [folder / key / _safe_name(file) for file in files]
        if all(path.is_file() for path in paths):
            with contextlib.suppress(OSError):
                os.utime(folder / key)  # what was asked for last is forgotten last
            return paths[0]
    return None


def prune_headers(folder: Path, most: int = MOST_KEPT) -> None:
    """Forget the headers that nobody asked for longest, beyond `most` models; what cannot be deleted stays."""
    with contextlib.suppress(OSError):
        kept = sorted(folder.iterdir(), key=lambda entry: entry.stat().st_mtime, reverse=True)
        for old in kept[most:]:
            shutil.rmtree(old, ignore_errors=True)


def _fetch(
    remote: RemoteFile,
    files: Sequence[RemoteFile],
    folder: Path,
    open_source: Callable[[RemoteFile], RangeSource],
) -> Path:
    """Fetch the headers that are not there yet; return the folder in `folder` where all of them are."""
    first = open_source(remote)
    own = folder / _place(remote, first.identity)
    commit = first.identity.commit or remote.revision
    for file in files:
        path = own / _safe_name(file)
        if not path.exists():
            is_first = file == files[0]
            source = first if is_first else open_source(msgspec.structs.replace(file, revision=commit))
            _write(source, file, path)
    return own


class _Last(msgspec.Struct, frozen=True):
    """Which folder held the headers of a file that is not pinned when the Hub was last asked."""

    folder: str


def _remember(remote: RemoteFile, folder: Path, own: str) -> None:
    with contextlib.suppress(OSError):
        write_json(_last_path(remote, folder), _Last(own))


def _last_known(remote: RemoteFile, folder: Path, files: Sequence[RemoteFile]) -> Path | None:
    last = read_json(_last_path(remote, folder), _Last, None)
    paths = [folder / last.folder / _safe_name(file) for file in files] if last is not None else []
    return paths[0] if paths and all(path.is_file() for path in paths) else None


def _last_path(remote: RemoteFile, folder: Path) -> Path:
    return folder / f"last-{_key(msgspec.structs.replace(remote, sha256=''))}" / "last.json"


def _http(given: OpenHttp | None) -> contextlib.AbstractContextManager[httpx2.Client]:
    """Return the client that is given, which stays open after the block, or else one for the block alone."""
    return open_client() if given is None else contextlib.nullcontext(given())


def _write(source: RangeSource, file: RemoteFile, path: Path) -> None:
    header = parse_header(source, file.name)
    check_complete(header, file.name)
    try:
        write_sparse(path, source.read(0, header.data_offset), source.size)
    except OSError as error:
        if path.exists():  # another thread was faster, and Windows does not replace a file that is open
            return
        raise SlipstreamError(
            f"The header of “{file.name}” cannot be kept.",
            remedy="Make room on the disk, or check that Slipstream may write to its cache folder.",
            detail=f"{path}: {error}",
        ) from error


def _keys(remote: RemoteFile) -> tuple[str, ...]:
    """Return the folders in which the header of a pinned file may be; () for one that may change."""
    by_commit = (
        (_key(msgspec.structs.replace(remote, sha256="")),) if _COMMIT.fullmatch(remote.revision) else ()
    )
    return ((_key(remote),) if _SHA256.fullmatch(remote.sha256) else ()) + by_commit


def _place(remote: RemoteFile, identity: Identity) -> str:
    """Return the folder for what was found for `remote`."""
    # A mirror may not tell the sha256; what it gives is not kept under the one that was expected.
    told = remote.sha256 if remote.sha256 == identity.sha256 else ""
    keys = _keys(msgspec.structs.replace(remote, sha256=told))
    commit = identity.commit or remote.revision
    return keys[0] if keys else _key(msgspec.structs.replace(remote, revision=commit, sha256=identity.sha256))


def _key(remote: RemoteFile) -> str:
    """Return the folder of a content: named for its sha256, else for where and in which commit it is."""
    if _SHA256.fullmatch(remote.sha256):
        return f"sha256-{remote.sha256}"
    place = f"{remote.repo}@{remote.revision}/{remote.path}"
    return f"commit-{hashlib.sha256(place.encode()).hexdigest()}"


def _renamed(remote: RemoteFile, name: str) -> RemoteFile:
    """Return the part called `name` beside `remote`, of which size and hash are not known."""
    if name == remote.name:
        return remote
    return RemoteFile(remote.repo, str(PurePosixPath(remote.path).with_name(name)), remote.revision)


def _safe_name(file: RemoteFile) -> str:
    """Return the file's name as one that every file system takes, its end kept: what parts are called matters."""
    name = _UNSAFE.sub("_", file.name)[-_MAX_NAME:].lstrip(". ") or "model.gguf"
    return f"_{name}" if _RESERVED.match(name) else name
