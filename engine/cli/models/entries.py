"""Names of the catalogue, as people type them."""

from __future__ import annotations

from engine.errors import NoSuchModel
from engine.models.catalogue import CatalogueEntry, load_catalogue


def find_entry(name: str) -> CatalogueEntry | None:
    """Return the entry of the catalogue with this id."""
    return next((entry for entry in load_catalogue() if entry.bundle.id == name.lower()), None)


def not_here_yet(name: str, error: NoSuchModel) -> NoSuchModel:
    """Return `error`, or a better one where `name` is in the catalogue and only has to be downloaded."""
    entry = find_entry(name.strip())
    if entry is None:
        return error
    return NoSuchModel(
        f"“{entry.bundle.id}” is in the catalogue, but not on this computer yet.",
        remedy=f"Get it first: slipstream models download {entry.bundle.id}",
    )
