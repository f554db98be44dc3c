"""Downloads that are not over, on disk: what a restart, or the end by a kill, leaves to be resumed."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import msgspec

from engine.atomic_file import FRESH_SUFFIX
from engine.bundles.names import check_bundle
from engine.bundles.store import (
    JOBS_FOLDER,
    MANIFESTS_FOLDER,
    WORK_FOLDER,
    file_path,
    json_files,
    needed_files,
)
from engine.download.partial import all_partials, partial_of
from engine.download.progress import DownloadState
from engine.errors import UnreadableRecord, UnsafeName
from engine.json_file import read_json, write_json
from engine.long_path import long_path
from engine.models.remote import RemoteBundle, RemoteFile

HALF_WRITTEN_S = 60.0
"""Another Slipstream may be writing now; it takes milliseconds."""


class Job(msgspec.Struct, frozen=True):
    """One download. Its bytes are not written here: the partial files tell them truly even after a kill."""

    bundle: RemoteBundle
    state: DownloadState = DownloadState.PAUSED
    sentence: str = ""
    remedy: str = ""
    detail: str = ""


def job_path(folder: Path, bundle_id: str) -> Path:
    return long_path(folder / JOBS_FOLDER / f"{bundle_id}.json")


def write_job(folder: Path, job: Job) -> None:
    write_json(job_path(folder, job.bundle.id), job)


def forget_job(folder: Path, bundle_id: str) -> None:
    job_path(folder, bundle_id).unlink(missing_ok=True)


def read_jobs(folder: Path) -> tuple[Job, ...]:
    """Return every job that can be read, in order of id."""
    try:
        paths = json_files(folder / JOBS_FOLDER)
    except OSError:
        return ()
    jobs = (read_json(path, Job, None) for path in paths)
    return tuple(job for job in jobs if job is not None and _is_safe(job))


def done_bytes(folder: Path, file: RemoteFile) -> int:
    """Return how much of `file` is on disk, under its final name or on its way there."""
    try:
        return file_path(folder, file).stat().st_size
    except OSError:
        return partial_of(folder, file).size_bytes


def sweep(folder: Path) -> int:
    """Delete partials that no job speaks for and no process holds; return the bytes that this freed.

    Nothing is deleted while a job cannot be read: its partials would count as nobody's.
    """
    _delete_halves(folder)
    try:
        wanted = {partial_of(folder, file) for file in needed_files(folder)}
    except UnreadableRecord:
        return 0
    return sum(partial.discard_if_free() for partial in all_partials(folder) if partial not in wanted)


def _delete_halves(folder: Path) -> None:
    """Delete small files that a kill has left half written."""
    for place in (folder / WORK_FOLDER, folder / MANIFESTS_FOLDER):
        for path in place.rglob(f".*{FRESH_SUFFIX}") if place.is_dir() else ():
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > HALF_WRITTEN_S:
                    path.unlink()


def _is_safe(job: Job) -> bool:
    try:
        check_bundle(job.bundle)
    except UnsafeName:
        return False
    return True
