"""The app's own folder of models: the Hub's cache layout with real files, and a manifest for each whole bundle.

Layout (docs/downloads.md): models--owner--name/refs/main, models--owner--name/snapshots/<commit>/<path>,
bundles/<id>.json, .downloads/.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from engine.atomic_file import write_atomically
from engine.bundles.names import check_file, check_part
from engine.errors import BadOption, UnreadableRecord
from engine.json_file import read_json, write_json
from engine.long_path import long_path
from engine.models.remote import RemoteBundle, RemoteFile

MANIFESTS_FOLDER = "bundles"
WORK_FOLDER = ".downloads"
JOBS_FOLDER = f"{WORK_FOLDER}/jobs"


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
        found = (path for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != ".")
        return sorted(map(long_path, found))
    except (FileNotFoundError, NotADirectoryError):
        return []


def read_manifests(folder: Path) -> tuple[Manifest, ...]:
    """Return the manifest of every whole bundle in order of id; one that cannot be read counts as none."""
    try:
        paths = json_files(folder / MANIFESTS_FOLDER)
    except OSError:
        return ()
    found = (read_json(path, Manifest, None) for path in paths)
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
    found = (read_json(path, _Record, None) for path in paths)
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
    return read_json(manifest_path(folder, bundle_id), Manifest, None)


def manifest_of(folder: Path, bundle_id: str) -> Manifest:
    """Return the manifest of a bundle that is whole. Raise BadOption if there is none."""
    manifest = read_manifest(folder, bundle_id)
    if manifest is None:
        raise BadOption(
            f"{bundle_id} was not downloaded by Slipstream.",
            remedy="`slipstream models list` shows what is here.",
        )
    return manifest


def write_manifest(folder: Path, bundle: RemoteBundle) -> Manifest:
    """Say that `bundle` is whole, and let `refs/main` of its repositories point to what came last."""
    manifest = Manifest(bundle, datetime.now(UTC).isoformat(timespec="seconds"))
    for file in bundle.files:
        write_atomically(repo_folder(folder, file.repo) / "refs" / "main", file.revision.encode())
    write_json(manifest_path(folder, bundle.id), manifest)
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
