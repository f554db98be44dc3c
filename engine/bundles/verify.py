"""Proving that a bundle is still what was downloaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.bundles.store import file_path, manifest_of
from engine.file_hash import ReadProgress, sha256_of


def verify_bundle(
    folder: Path,
    bundle_id: str,
    on_progress: Callable[[float], None] = lambda _fraction: None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> str:
    """Compare every file with its sha256; return "" if all are right, else a sentence about the first that is not.

    `on_progress` gets the fraction of all bytes that were read, at most ten times a second. Raise BadOption or
    Cancelled.
    """
    manifest = manifest_of(folder, bundle_id)
    progress = ReadProgress(sum(file.size_bytes for file in manifest.files), on_progress)
    for file in manifest.files:
        try:
            sha256 = sha256_of(file_path(folder, file), progress, is_cancelled)
        except FileNotFoundError:
            return f"{file.name} is missing; remove the bundle and download it again."
        except OSError as error:
            return f"{file.name} cannot be read ({error.strerror}); the disk may be failing."
        if sha256 != file.sha256:
            return f"{file.name} is not what was downloaded; remove the bundle and download it again."
    progress.end()
    return ""
