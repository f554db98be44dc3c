"""One model of this computer, for people."""

from __future__ import annotations

import msgspec

from engine.cli.models.list import PLACE_NAMES
from engine.cli.models.table import count_text, size_text
from engine.cli.terminal import printable, write_json
from engine.models.bundle import DrafterKind
from engine.shelf.installed_model import InstalledModel
from engine.shelf.naming import fetch_again


def show_installed(model: InstalledModel, as_json: bool) -> None:
    """Print what is known of one model that is on this computer."""
    if as_json:
        write_json(
            msgspec.json.encode(msgspec.to_builtins(model) | {"can_remove": model.can_remove}).decode()
        )
        return
    drafter = model.bundle.drafter
    kind = "n-gram" if drafter.kind is DrafterKind.NGRAM else str(drafter.kind)
    facts = [
        f"{count_text(model.n_params)} parameters" if model.n_params else "",
        model.architecture,
        model.quantisation,
        model.licence,
        f"up to {model.n_ctx_train} tokens" if model.n_ctx_train else "",
    ]
    lines = [
        f"{model.bundle.name} ({model.id}): {PLACE_NAMES[model.place]}, {size_text(model.size_bytes)}",
        ", ".join(fact for fact in facts if fact),
        f"drafter: {kind}",
        *(f"  {path}" for path in (model.bundle.target, drafter.path) if path),
    ]
    if model.trouble:
        lines += [f"It cannot be used: {model.trouble}", fetch_again(model)]
    for line in filter(None, lines):
        print(printable(line))
