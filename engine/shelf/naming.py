"""From what a person types to a model of the shelf."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from typing import Final

from engine.errors import DamagedDownload, NoSuchModel
from engine.shelf.installed_model import InstalledModel

_N_NEAR: Final = 3


def find_installed(name: str, models: Sequence[InstalledModel]) -> InstalledModel:
    """Return the model that `name` means: its id, its name, the path of its file, or the beginning of just one id; also
    the repository of just one.

    Case is not looked at. Raises NoSuchModel, with the nearest names, where none or more than one is meant.
    """
    wanted = name.strip().casefold()
    if (exact := find_exactly(name, models)) is not None:
        return exact
    if (by_path := _by_path(name, models)) is not None:
        return by_path
    begun = [m for m in models if wanted and _begins(m, wanted)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        raise NoSuchModel(
            f"“{name}” may mean {_listing([m.id for m in begun[:6]], 'or')}.", remedy="Type more of the name."
        )
    raise NoSuchModel(f"There is no model “{name}” on this computer.", remedy=_remedy(wanted, models))


def find_usable(name: str, models: Sequence[InstalledModel]) -> InstalledModel:
    """Return the model that `name` means as find_installed does; raises DamagedDownload too, for one with a trouble."""
    model = find_installed(name, models)
    if model.trouble:
        raise DamagedDownload(
            f"“{model.id}” cannot be used: {model.trouble.rstrip('.')}.", remedy=fetch_again(model)
        )
    return model


def fetch_again(model: InstalledModel) -> str:
    """Return how to get or to drop a model that has a trouble."""
    return (
        f"`slipstream models download {model.id}` fetches what is missing, "
        f"`slipstream models remove {model.id}` deletes the rest."
    )


def find_exactly(name: str, models: Sequence[InstalledModel]) -> InstalledModel | None:
    """Return the model with that id or name; of two copies with one name the first."""
    wanted = name.strip().casefold()
    exact = [m for m in models if wanted in (m.id.casefold(), m.bundle.name.casefold())]
    return next((m for m in exact if m.id.casefold() == wanted), exact[0] if exact else None)


def _begins(model: InstalledModel, wanted: str) -> bool:
    """Whether `wanted` is the beginning of a name, or the repository "owner/name" that it was downloaded from."""
    from_repo = f"{wanted.replace('/', '--')}--" if wanted.count("/") == 1 else ""
    return (
        model.id.casefold().startswith(wanted)
        or model.bundle.name.casefold().startswith(wanted)
        or bool(from_repo and model.remote_id.casefold().startswith(from_repo))
    )


def _by_path(name: str, models: Sequence[InstalledModel]) -> InstalledModel | None:
    try:
        if not os.path.isfile(name):
            return None
    except ValueError:
        return None
    wanted = os.path.realpath(name)
    return next((m for m in models if os.path.realpath(m.bundle.target) == wanted), None)


def _remedy(wanted: str, models: Sequence[InstalledModel]) -> str:
    ids = {model.id.casefold(): model.id for model in models}
    near = [ids[key] for key in difflib.get_close_matches(wanted, ids, n=_N_NEAR, cutoff=0.5)]
    near += [m.id for m in models if wanted and wanted in m.id.casefold() and m.id not in near]
    if near:
        return f"Did you mean {_listing(near[:_N_NEAR], 'or')}?"
    return "`slipstream models list` shows what is here, `slipstream models search` what can be had."


def _listing(names: Sequence[str], word: str) -> str:
    """Return "“a”", "“a” or “b”", "“a”, “b” or “c”"."""
    quoted = [f"“{name}”" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {word} {quoted[-1]}"
