"""Downloads that are not over, on disk: what a restart, or the end by a kill, leaves to be resumed."""

from __future__ import annotations

from pathlib import Path

import filelock
import msgspec

from engine.download.names import check_bundle, long_path
from engine.download.partial import partial_of
from engine.download.progress import DownloadState
from engine.download.store import WORK_FOLDER, file_path, read_json, write_atomically
from engine.errors import UnsafeName
from engine.models.remote import RemoteBundle, RemoteFile


class Job(msgspec.Struct, frozen=True):
    """One download. Its bytes are not written here: the partial files tell them truly even after a kill."""

    bundle: RemoteBundle
    state: DownloadState = DownloadState.PAUSED
    sentence: str = ""
    remedy: str = ""
    detail: str = ""


def job_path(folder: Path, bundle_id: str) -> Path:
    return long_path(folder / WORK_FOLDER / "jobs" / f"{bundle_id}.json")


def write_job(folder: Path, job: Job) -> None:
    write_atomically(job_path(folder, job.bundle.id), msgspec.json.encode(job))


def forget_job(folder: Path, bundle_id: str) -> None:
    job_path(folder, bundle_id).unlink(missing_ok=True)


def read_jobs(folder: Path) -> tuple[Job, ...]:
    """Return every job that can be read, in order of id."""
    try:
        paths = sorted((folder / WORK_FOLDER / "jobs").glob("*.json"))
    except OSError:
        return ()
    jobs = (read_json(path, Job) for path in paths)
    return tuple(job for job in jobs if job is not None and _is_safe(job))


def done_bytes(folder: Path, file: RemoteFile) -> int:
    """Return how much of `file` is on disk, under its final name or on its way there."""
    try:
        return file_path(folder, file).stat().st_size
    except OSError:
        return partial_of(folder, file).size_bytes


def sweep(folder: Path) -> int:
    """Delete what no job speaks for and no process holds; return the bytes that this freed."""
    spoken_for = {
        partial_of(folder, file).path.stem for job in read_jobs(folder) for file in job.bundle.files
    }
    freed_bytes = 0
    parts = folder / WORK_FOLDER / "parts"
    stems = {path.stem for path in parts.glob("*.*")} if parts.is_dir() else set()
    for stem in stems - spoken_for:
        paths = [parts / (stem + suffix) for suffix in (".part", ".json", ".lock")]
        lock = filelock.FileLock(paths[2])
        try:
            with lock.acquire(timeout=0):
                freed_bytes += paths[0].stat().st_size if paths[0].exists() else 0
                for path in paths[:2]:
                    path.unlink(missing_ok=True)
            paths[2].unlink(missing_ok=True)
        except (filelock.Timeout, OSError):
            continue
    return freed_bytes


def _is_safe(job: Job) -> bool:
    try:
        check_bundle(job.bundle)
    except UnsafeName:
        return False
    return True
