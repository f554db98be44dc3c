"""`slipstream models list`: what is on this computer."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import msgspec

from engine.cli.models.table import count_text, print_table, size_text
from engine.cli.models.verb import add_verb
from engine.cli.terminal import printable, write_json
from engine.download.unfinished import unusable_models
from engine.models.bundle import DrafterKind
from engine.shelf.installed_model import InstalledModel, Place
from engine.shelf.listing import Shelf
from engine.shelf.naming import fetch_again
from engine.shelf.shelf import read_shelf

PLACE_NAMES = {
    Place.STARTER: "comes with Slipstream",
    Place.DOWNLOADED: "downloaded",
    Place.HUB_CACHE: "Hugging Face cache",
    Place.LM_STUDIO: "LM Studio",
    Place.JAN: "Jan",
    Place.OLLAMA: "Ollama",
    Place.FOLDER: "your folder",
    Place.OPENED: "opened by hand",
}


def add_list(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `slipstream models list`."""
    add_verb(verbs, "list", "list the models on this computer, of other programs too", list_models)


def list_models(given: argparse.Namespace) -> int:
    """Print every model that can be loaded, and downloads that cannot; with --verbose also what was passed over."""
    shelf = read_shelf()
    unusable = unusable_models(shelf)
    if given.json:
        write_json(msgspec.json.encode(shelf_facts(shelf, unusable)).decode())
        return 0
    if shelf.models:
        head = ("name", "size", "parameters", "quantisation", "context", "drafter", "where")
        print_table(head, [_row(model) for model in shelf.models], right=(1, 2, 4))
    else:
        print("There is no model on this computer yet. `slipstream models recommend` says what suits it.")
    for model in unusable:
        print(printable(f"\n{model.id}: {model.trouble}\n  {fetch_again(model)}"))
    if given.verbose:
        for passed in shelf.passed_over:
            print(printable(f"\n{passed.path}\n  {passed.sentence}"))
    return 0


def shelf_facts(shelf: Shelf, unusable: Sequence[InstalledModel]) -> dict[str, Any]:
    """Return what --json tells of the shelf, and of downloads that cannot be used."""
    models = [msgspec.to_builtins(model) | {"can_remove": model.can_remove} for model in shelf.models]
    passed = [{"path": str(passed.path), "sentence": passed.sentence} for passed in shelf.passed_over]
    return {"models": models, "unusable": msgspec.to_builtins(unusable), "passed_over": passed}


def _row(model: InstalledModel) -> tuple[str, ...]:
    drafter = model.bundle.drafter
    shown = "n-gram" if drafter.kind is DrafterKind.NGRAM else str(drafter.kind)
    return (
        model.id,
        size_text(model.size_bytes),
        count_text(model.n_params),
        model.quantisation,
        _context_text(model.n_ctx_train),
        shown,
        PLACE_NAMES[model.place],
    )


def _context_text(n_ctx: int) -> str:
    """Return "8k" for 8192 tokens, as models' makers do."""
    return f"{n_ctx // 1024}k" if n_ctx >= 1024 else str(n_ctx or "")
