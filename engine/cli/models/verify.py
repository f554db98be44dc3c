"""`slipstream models verify`: is a model still what it was?"""

from __future__ import annotations

import argparse

import msgspec

from engine.cli.models.verb import add_verb
from engine.cli.progress import ProgressLine
from engine.cli.terminal import printable, write_json
from engine.download.unfinished import list_everything
from engine.errors import NotAModelFile
from engine.shelf.checking import can_compare, verify_installed
from engine.shelf.installed_model import InstalledModel
from engine.shelf.naming import fetch_again, find_installed


def add_verify(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `slipstream models verify`."""
    parser = add_verb(verbs, "verify", "compare a model's files with their sha256", verify)
    parser.add_argument("name", metavar="NAME", help="what `slipstream models list` calls it")


def verify(given: argparse.Namespace) -> int:
    """Read every file of one model; a file that is not what it should be is a failure with a sentence."""
    model = find_installed(given.name, list_everything())
    sentence = _verify(model)
    if given.json:
        told = {
            "id": model.id,
            "is_right": not sentence,
            "is_compared": can_compare(model),
            "sentence": sentence,
        }
        write_json(msgspec.json.encode(told).decode())
        return 1 if sentence else 0
    if sentence:
        raise NotAModelFile(sentence, remedy=fetch_again(model) if model.can_remove else "")
    how = (
        "every file has its sha256"
        if can_compare(model)
        else "whole, with nothing to compare its contents with"
    )
    print(printable(f"{model.id} is right: {how}."))
    return 0


def _verify(model: InstalledModel) -> str:
    if model.trouble and not model.bundle.target:
        return f"“{model.id}” is not whole: {model.trouble.rstrip('.')}."
    with ProgressLine() as line:
        return verify_installed(model, lambda fraction: line.show(f"Verifying {model.id}: {fraction:.0%}"))
