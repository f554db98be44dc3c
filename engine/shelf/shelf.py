"""Which models are on this computer: looked for where Slipstream and other programs keep them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from engine.folders import MODELS_FOLDER_VARIABLE, cache_folder, models_folder
from engine.models.bundle import Bundle
from engine.shelf.facts_cache import FactsCache
from engine.shelf.folders import read_folders
from engine.shelf.found import FoundFile, group_of
from engine.shelf.hub_cache import files_in_hub_cache, hub_cache_folders
from engine.shelf.installed_model import InstalledModel, Place
from engine.shelf.listing import Shelf, put_on_shelf
from engine.shelf.other_apps import (
    files_of_jan,
    files_of_lm_studio,
    files_of_ollama,
    jan_folders,
    lm_studio_folders,
    ollama_folders,
)
from engine.shelf.own_folder import loose_files, read_downloaded
from engine.shelf.starter import find_starter
from engine.shelf.surroundings import Surroundings, here
from engine.shelf.walk import gguf_files

__all__ = [
    "MODELS_FOLDER_VARIABLE",
    "list_installed",
    "list_shelf",
    "models_folder",
    "read_shelf",
]

FACTS_FILE_NAME = "model-facts.json"


def list_installed(
    opened: Sequence[str] = (), *, starter: Callable[[], Bundle | None] = find_starter
) -> tuple[Bundle, ...]:
    """Return what can be loaded: every model of the shelf, with a drafter that this version can decode with."""
    return tuple(model.bundle for model in list_shelf(opened=opened, starter=starter))


def list_shelf(
    folders: Sequence[str] | None = None,
    opened: Sequence[str] = (),
    *,
    starter: Callable[[], Bundle | None] = find_starter,
    around: Surroundings | None = None,
    cache: FactsCache | None = None,
) -> tuple[InstalledModel, ...]:
    """Return the models of the shelf: see `read_shelf`."""
    return read_shelf(folders, opened, starter=starter, around=around, cache=cache).models


def read_shelf(
    folders: Sequence[str] | None = None,
    opened: Sequence[str] = (),
    *,
    starter: Callable[[], Bundle | None] = find_starter,
    around: Surroundings | None = None,
    cache: FactsCache | None = None,
) -> Shelf:
    """Return what is on this computer, used where it lies and never written to.

    `folders` are the person's own, None: those that they added. `opened` are files that were opened by hand. A folder
    that cannot be read counts as empty. `cache` None: the one in the user's cache folder; headers that are not in it
    are read, so the first time may take a while.
    """
    kept = cache if cache is not None else FactsCache(cache_folder() / FACTS_FILE_NAME)
    found = _find(read_folders() if folders is None else folders, opened, around or here())
    try:
        downloaded = read_downloaded(models_folder())
        return put_on_shelf(found, kept.facts, starter=starter(), downloaded=downloaded)
    finally:
        kept.save()


def _find(folders: Sequence[str], opened: Sequence[str], around: Surroundings) -> Iterator[FoundFile]:
    yield from loose_files(models_folder())
    for folder in hub_cache_folders(around):
        yield from files_in_hub_cache(folder)
    for folder in lm_studio_folders(around):
        yield from files_of_lm_studio(folder)
    for folder in jan_folders(around):
        yield from files_of_jan(folder)
    for folder in ollama_folders(around):
        yield from files_of_ollama(folder)
    for name in folders:
        for path in gguf_files(Path(name)):
            yield FoundFile(path, Place.FOLDER, group=group_of(path))
    for name in opened:
        path = Path(name)
        yield FoundFile(path, Place.OPENED, group=group_of(path))
