"""Which models are on this computer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import platformdirs

from engine.models.bundle import NGRAM_DRAFTER, Bundle
from engine.models.starter import find_starter

MODELS_FOLDER_VARIABLE = "SLIPSTREAM_MODELS_DIR"


def models_folder() -> Path:
    """Return the folder that holds models; SLIPSTREAM_MODELS_DIR in the environment overrides it. It may not
    exist.
    """
    override = os.environ.get(MODELS_FOLDER_VARIABLE)
    if override:
        return Path(override)
    return platformdirs.user_data_path("Slipstream", appauthor=False) / "models"


def list_installed(
    recent: Sequence[str] = (), *, starter: Callable[[], Bundle | None] = find_starter
) -> tuple[Bundle, ...]:
    """Return a bundle for the starter, each GGUF of the models folder and each file of `recent` that still
    exists.

    Each file appears once. A folder that cannot be read counts as empty.
    """
    bundles: dict[str, Bundle] = {}
    found = starter()
    if found is not None:
        bundles[_identity(found.target)] = found
    for path in [*_ggufs_in(models_folder()), *map(Path, recent)]:
        if path.is_file():
            bundles.setdefault(_identity(str(path)), Bundle(path.stem, str(path), NGRAM_DRAFTER))
    return tuple(bundles.values())


def _ggufs_in(folder: Path) -> Iterable[Path]:
    try:
        found = sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".gguf")
    except OSError:
        return ()
    # A name that is not valid Unicode cannot be handed to the worker.
    return [path for path in found if is_encodable(str(path))]


def is_encodable(text: str) -> bool:
    """Whether `text` is valid Unicode; file names and arguments may hold lone surrogates for other bytes."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _identity(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))
