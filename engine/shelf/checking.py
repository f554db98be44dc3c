"""Proving that a model is still what it was, wherever it lies."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from engine.bundles.verify import verify_bundle
from engine.errors import Cancelled, SlipstreamError
from engine.file_hash import ReadProgress, sha256_of
from engine.folders import models_folder
from engine.models.facts import read_facts
from engine.shelf.installed_model import InstalledModel, Place

# Ollama's blobs, and those of the Hugging Face cache where files are kept by Git LFS, are named by their sha256.
_NAMED_BY_SHA256: Final = re.compile(r"^(?:sha256-)?([0-9a-f]{64})$")


def verify_installed(
    model: InstalledModel,
    on_progress: Callable[[float], None] = lambda _fraction: None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> str:
    """Return "" where every file of `model` is what it should be, else a sentence about the first that is not.

    What Slipstream downloaded, and what other programs name by its sha256, is compared with it. Of anything else only
    headers and lengths can be checked. Raises Cancelled.
    """
    if model.place is Place.DOWNLOADED:
        return verify_bundle(models_folder(), model.remote_id, on_progress, is_cancelled)
    paths = [Path(path) for path in (model.bundle.target, model.bundle.drafter.path) if path]
    progress = ReadProgress(sum(_size_bytes(path) for path in paths), on_progress)
    for path in paths:
        try:
            read_facts(path)
            wanted = known_sha256(path)
            if wanted and sha256_of(path, progress, is_cancelled) != wanted:
                return f"“{path.name}” is not what its name says: its contents have changed."
        except Cancelled:
            raise
        except SlipstreamError as error:
            return error.sentence
        except OSError as error:
            return f"“{path.name}” cannot be read ({error.strerror}); the disk may be failing."
        if not wanted:
            progress.add(_size_bytes(path))
    progress.end()
    return ""


def known_sha256(path: Path) -> str:
    """Return the sha256 that the name of the real file at `path` tells, "" for an ordinary name."""
    match = _NAMED_BY_SHA256.match(os.path.basename(os.path.realpath(path)))
    return match[1] if match is not None else ""


def can_compare(model: InstalledModel) -> bool:
    """Whether there is a sha256 to compare the target with."""
    return model.place is Place.DOWNLOADED or bool(known_sha256(Path(model.bundle.target)))


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
