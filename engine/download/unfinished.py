"""Downloads that are not over: on no shelf yet, but they take room and can be gone on with or dropped."""

from __future__ import annotations

from pathlib import Path

from engine.bundles.store import read_manifest
from engine.download.jobs import Job, done_bytes, forget_job, read_jobs
from engine.download.partial import partial_of
from engine.download.progress import DownloadState
from engine.download.remove import delete_unused, remove_bundle
from engine.errors import BadOption, FileInUse
from engine.folders import models_folder
from engine.shelf.installed_model import InstalledModel
from engine.shelf.listing import Shelf, unusable
from engine.shelf.shelf import read_shelf


def unfinished(folder: Path) -> tuple[InstalledModel, ...]:
    """Return the downloads into `folder` that are paused, failed or running, each with its `trouble`."""
    return tuple(unusable(job.bundle, _trouble(folder, job)) for job in read_jobs(folder))


def unusable_models(shelf: Shelf) -> tuple[InstalledModel, ...]:
    """Return what Slipstream downloaded and cannot load: unfinished, or damaged on `shelf`."""
    begun = unfinished(models_folder())
    known = {model.remote_id for model in (*begun, *shelf.models)}
    here = {model.remote_id for model in shelf.models}
    return (
        *(model for model in begun if model.remote_id not in here),
        *(model for model in shelf.damaged if model.remote_id not in known),
    )


def list_everything() -> tuple[InstalledModel, ...]:
    """Return the models of the shelf, then those that cannot be loaded: what names on the command line may mean."""
    shelf = read_shelf()
    return (*shelf.models, *unusable_models(shelf))


def drop(folder: Path, bundle_id: str) -> int:
    """Delete what was downloaded as `bundle_id`, whole or in part; return the bytes freed.

    Raise BadOption if there is no such bundle, FileInUse, UnreadableRecord.
    """
    job = next((job for job in read_jobs(folder) if job.bundle.id == bundle_id), None)
    freed_bytes = 0
    if read_manifest(folder, bundle_id) is not None:
        # The job needs its files until it is forgotten.
        freed_bytes = _drop_job(folder, job) if job is not None else 0
        return freed_bytes + remove_bundle(folder, bundle_id)
    if job is None:
        raise BadOption(f"{bundle_id} was not downloaded by Slipstream.")
    return _drop_job(folder, job)


def _drop_job(folder: Path, job: Job) -> int:
    if _is_running(folder, job):
        raise FileInUse(
            f"{job.bundle.id} is being downloaded now.",
            remedy="Pause it where it runs, then remove it.",
        )
    freed_bytes = delete_unused(folder, job.bundle.files, but_job=job.bundle.id)
    forget_job(folder, job.bundle.id)
    return freed_bytes


def _is_running(folder: Path, job: Job) -> bool:
    return any(partial_of(folder, file).is_held() for file in job.bundle.files)


def _trouble(folder: Path, job: Job) -> str:
    if job.state is DownloadState.FAILED:
        return f"failed: {job.sentence}"
    # The state of one that was killed is that of when it ran.
    word = "being downloaded," if _is_running(folder, job) else "paused"
    size_bytes = job.bundle.size_bytes
    so_far = sum(done_bytes(folder, file) for file in job.bundle.files)
    return f"{word} at {min(so_far / size_bytes, 1.0):.0%}" if size_bytes else word.rstrip(",")
