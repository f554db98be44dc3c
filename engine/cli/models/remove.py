"""`slipstream models remove`: delete what was downloaded."""

from __future__ import annotations

import argparse

import msgspec

from engine.cli.models.list import PLACE_NAMES
from engine.cli.models.table import size_text
from engine.cli.models.verb import add_verb
from engine.cli.terminal import printable, write_json
from engine.download.unfinished import drop, list_everything
from engine.errors import NotOurs
from engine.folders import models_folder
from engine.shelf.naming import find_installed


def add_remove(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `slipstream models remove`."""
    parser = add_verb(verbs, "remove", "delete a model that Slipstream downloaded", remove)
    parser.add_argument("name", metavar="NAME", help="what `slipstream models list` calls it")


def remove(given: argparse.Namespace) -> int:
    """Delete one model, whole or not, and print what that freed; files that another bundle uses stay."""
    model = find_installed(given.name, list_everything())
    if not model.can_remove:
        raise NotOurs(
            f"“{model.id}” was not downloaded by Slipstream ({PLACE_NAMES[model.place]}), so it is left alone.",
            remedy="Delete it in the program that it belongs to.",
            detail=model.bundle.target,
        )
    freed_bytes = drop(models_folder(), model.remote_id)
    if given.json:
        write_json(msgspec.json.encode({"id": model.id, "freed_bytes": freed_bytes}).decode())
    else:
        nothing = "there was nothing of it" if model.trouble else "its files belong to other bundles too"
        freed = f"{size_text(freed_bytes)} are free again" if freed_bytes else nothing
        print(printable(f"{model.id} is removed; {freed}."))
    return 0
