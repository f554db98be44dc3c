"""The app's own folder of models: the Hub's cache layout with real files, and a manifest for each whole bundle.

Layout (docs/downloads.md): models--owner--name/refs/main, models--owner--name/snapshots/<commit>/<path>,
bundles/<id>.json, .downloads/.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from engine.download.names import check_file, check_part, long_path
from engine.errors import UnreadableRecord
from engine.models.remote import RemoteBundle, RemoteFile

MANIFESTS_FOLDER = "bundles"
WORK_FOLDER = ".downloads"
JOBS_FOLDER = f"{WORK_FOLDER}/jobs"
FRESH_SUFFIX = ".new"
T = TypeVar("T")
REPLACE_TRIES = 12
"""A virus scanner may hold a file for seconds after its last byte: 0.05 s doubling to 1 s, about 7 s in all."""


class Manifest(msgspec.Struct, frozen=True):
    """A bundle that is whole on disk: every file in it is pinned. `finished_at` is ISO 8601 in UTC."""

    bundle: RemoteBundle
    finished_at: str

    @property
    def files(self) -> tuple[RemoteFile, ...]:
        return self.bundle.files


def repo_folder(folder: Path, repo: str) -> Path:
    return folder / f"models--{repo.replace('/', '--')}"


def file_path(folder: Path, file: RemoteFile) -> Path:
    """Return where `file` lies, or will lie, under `folder`; it must be pinned to a commit to be found there.

    Raise UnsafeName.
    """
    check_file(file)
    path = repo_folder(folder, file.repo) / "snapshots" / file.revision / file.path
    return long_path(path)


def manifest_path(folder: Path, bundle_id: str) -> Path:
    """Raise UnsafeName."""
    check_part(bundle_id)
    return long_path(folder / MANIFESTS_FOLDER / f"{bundle_id}.json")


def json_files(folder: Path) -> list[Path]:
    """Return the JSON files in `folder`, in order of name; none where it does not exist. Raise OSError."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != ".")
    except (FileNotFoundError, NotADirectoryError):
        return []


def read_manifests(folder: Path) -> tuple[Manifest, ...]:
    """Return the manifest of every whole bundle in order of id; one that cannot be read counts as none."""
    try:
        paths = json_files(folder / MANIFESTS_FOLDER)
    except OSError:
        return ()
    found = (read_json(path, Manifest) for path in paths)
    return tuple(manifest for manifest in found if manifest is not None)


class _Record(msgspec.Struct, frozen=True):
    """As much of a manifest, or of a job (engine/download/jobs.py), as says which files it needs."""

    bundle: RemoteBundle


def pending_bundles(folder: Path) -> tuple[RemoteBundle, ...]:
    """Return the bundles that are on their way to `folder`, running or not."""
    try:
        paths = json_files(folder / JOBS_FOLDER)
    except OSError:
        return ()
    found = (read_json(path, _Record) for path in paths)
    return tuple(record.bundle for record in found if record is not None)


def needed_files(folder: Path, *, but_manifest: str = "", but_job: str = "") -> Iterator[RemoteFile]:
    """Yield what any manifest but `but_manifest` and any job but `but_job` names.

    Raise UnreadableRecord: who cannot be asked may need anything.
    """
    for place, but in ((folder / MANIFESTS_FOLDER, but_manifest), (folder / JOBS_FOLDER, but_job)):
        path = place
        try:
            for path in json_files(place):
                with contextlib.suppress(FileNotFoundError):  # it went while this was read
                    bundle = msgspec.json.decode(path.read_bytes(), type=_Record).bundle
                    yield from bundle.files if bundle.id != but else ()
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            raise UnreadableRecord(
                "Nothing was deleted: Slipstream cannot read which files its other models need.",
                remedy=f"Try again in a moment. If it stays like this, delete {path}, which is damaged.",
                detail=f"{type(error).__name__}: {error}",
            ) from error


def read_manifest(folder: Path, bundle_id: str) -> Manifest | None:
    return read_json(manifest_path(folder, bundle_id), Manifest)


def write_manifest(folder: Path, bundle: RemoteBundle) -> Manifest:
    """Say that `bundle` is whole, and let `refs/main` of its repositories point to what came last."""
    manifest = Manifest(bundle, datetime.now(UTC).isoformat(timespec="seconds"))
    for file in bundle.files:
        write_atomically(repo_folder(folder, file.repo) / "refs" / "main", file.revision.encode())
    write_atomically(manifest_path(folder, bundle.id), msgspec.json.encode(manifest))
    return manifest


def known_file(manifests: tuple[Manifest, ...], file: RemoteFile) -> RemoteFile | None:
    """Return the record of `file`'s repository, path and revision in any manifest."""
    place = (file.repo, file.path, file.revision)
    for manifest in manifests:
        for known in manifest.files:
            if (known.repo, known.path, known.revision) == place:
                return known
    return None


def is_stored(folder: Path, manifests: tuple[Manifest, ...], file: RemoteFile) -> bool:
    """Whether a manifest vouches for exactly this file and it lies there in its full length."""
    known = known_file(manifests, file)
    if known is None or (file.sha256 and file.sha256 != known.sha256):
        return False
    try:
        return file_path(folder, known).stat().st_size == known.size_bytes
    except OSError:
        return False


def read_json(path: Path, kind: type[T]) -> T | None:
    """Return what `path` holds; None if it is absent or damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def write_atomically(path: Path, data: bytes) -> None:
    """Write a small file so that a reader, or a power cut, meets the old or the new one, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}{FRESH_SUFFIX}")
    with fresh.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    replace_patiently(fresh, path)


def replace_patiently(
    source: Path,
    target: Path,
    *,
    replace: Callable[[Path, Path], None] = os.replace,
    tries: int = REPLACE_TRIES,
) -> None:
    """Rename over `target`; wait and try again while Windows says that another program holds the file.

    Raise OSError when it is still held after `tries`.
    """
    delay_s = 0.05
    for left in reversed(range(tries)):
        try:
            replace(source, target)
            break
        except PermissionError:
            if not left:
                raise
            time.sleep(delay_s)
            delay_s = min(2 * delay_s, 1.0)
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut; Windows has no such call and needs none."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
