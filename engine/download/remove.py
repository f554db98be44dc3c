"""Deleting a bundle without harm to others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from engine.atomic_file import write_atomically
from engine.bundles.store import (
    file_path,
    manifest_of,
    manifest_path,
    needed_files,
    repo_folder,
)
from engine.download.partial import partial_of
from engine.errors import FileInUse
from engine.models.remote import RemoteFile


def remove_bundle(folder: Path, bundle_id: str) -> int:
    """Delete a bundle's files but those that another bundle or a running download needs; return the bytes freed.

    Raise BadOption if there is no such bundle, FileInUse if a file is in use, UnreadableRecord if it cannot be told
    what the others need.
    """
    manifest = manifest_of(folder, bundle_id)
    freed_bytes = delete_unused(folder, manifest.files, but_manifest=bundle_id)
    # The manifest goes last: a kill before leaves something that can be removed again.
    manifest_path(folder, bundle_id).unlink(missing_ok=True)
    return freed_bytes


def delete_unused(
    folder: Path, files: Iterable[RemoteFile], *, but_manifest: str = "", but_job: str = ""
) -> int:
    """Delete those of `files`, and what there is of them, that nothing else needs.

    What any manifest but `but_manifest` and any job but `but_job` names is needed. Return the bytes that this freed.
    Raise FileInUse, and UnreadableRecord, in which case nothing is deleted.
    """
    needed = {_place(file) for file in needed_files(folder, but_manifest=but_manifest, but_job=but_job)}
    freed_bytes = 0
    for file in files:
        if _place(file) not in needed:
            freed_bytes += _delete(file_path(folder, file), file.name)
            freed_bytes += partial_of(folder, file).discard_if_free()
    for repo in {file.repo for file in files}:
        _tidy(folder, repo)
    return freed_bytes


def _place(file: RemoteFile) -> tuple[str, str, str]:
    """Return what a file has in common with every other that may be one with it on a disk that ignores case."""
    return file.repo.casefold(), file.path.casefold(), file.revision


def _delete(path: Path, name: str) -> int:
    try:
        size_bytes = path.stat().st_size
        path.unlink()
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise FileInUse(
            f"{name} could not be deleted: another program is using it.",
            remedy="Unload the model, close other programs that have it open, and try again.",
            detail=str(error),
        ) from error
    return size_bytes


def _tidy(folder: Path, repo: str) -> None:
    """Remove folders that became empty, and let refs/main point to a version that is still there."""
    place = repo_folder(folder, repo)
    snapshots = place / "snapshots"
    if not snapshots.is_dir():
        return
    for path in sorted(snapshots.rglob("*"), reverse=True):
        if path.is_dir():
            # Not empty means that something in it is still needed.
            with contextlib.suppress(OSError):
                path.rmdir()
    left = sorted(snapshots.iterdir())
    ref = place / "refs" / "main"
    if not left:
        ref.unlink(missing_ok=True)
        for path in (ref.parent, snapshots, place):
            with contextlib.suppress(OSError):
                path.rmdir()
    elif not ref.is_file() or not (snapshots / ref.read_text("ascii", "replace")).is_dir():
        write_atomically(ref, left[-1].name.encode())
