"""Deleting a bundle without harm to others, and proving that one is still what was downloaded."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path

from engine.atomic_file import write_atomically
from engine.download.partial import READ_BYTES, Digest, partial_of
from engine.download.store import (
    Manifest,
    file_path,
    manifest_path,
    needed_files,
    read_manifest,
    repo_folder,
)
from engine.errors import BadOption, Cancelled, FileInUse
from engine.models.remote import RemoteFile


def remove_bundle(folder: Path, bundle_id: str) -> int:
    """Delete a bundle's files but those that another bundle or a running download needs; return the bytes freed.

    Raise BadOption if there is no such bundle, FileInUse if a file is in use, UnreadableRecord if it cannot be told
    what the others need.
    """
    manifest = _manifest(folder, bundle_id)
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


def verify_bundle(
    folder: Path,
    bundle_id: str,
    on_progress: Callable[[float], None] = lambda _fraction: None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> str:
    """Compare every file with its sha256; return "" if all are right, else a sentence about the first that is not.

    `on_progress` gets the fraction of all bytes that were read. Raise BadOption or Cancelled.
    """
    manifest = _manifest(folder, bundle_id)
    total_bytes = max(sum(file.size_bytes for file in manifest.files), 1)
    done_bytes = 0
    for file in manifest.files:
        digest = Digest()
        try:
            with file_path(folder, file).open("rb") as stream:
                while data := stream.read(READ_BYTES):
                    if is_cancelled():
                        raise Cancelled("Verifying was stopped.")
                    digest.feed(data)
                    done_bytes += len(data)
                    on_progress(min(done_bytes / total_bytes, 1.0))
        except FileNotFoundError:
            return f"{file.name} is missing; remove the bundle and download it again."
        except OSError as error:
            return f"{file.name} cannot be read ({error.strerror}); the disk may be failing."
        if digest.sha256 != file.sha256:
            return f"{file.name} is not what was downloaded; remove the bundle and download it again."
    on_progress(1.0)
    return ""


def _manifest(folder: Path, bundle_id: str) -> Manifest:
    manifest = read_manifest(folder, bundle_id)
    if manifest is None:
        raise BadOption(
            f"{bundle_id} was not downloaded by Slipstream.",
            remedy="`slipstream models list` shows what is here.",
        )
    return manifest


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
