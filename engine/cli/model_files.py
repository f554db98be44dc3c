"""From what a person types for a model to files that llama.cpp can measure."""

from __future__ import annotations

from pathlib import Path

from engine.cli.model_argument import find_header, parse_remote
from engine.cli.models.entries import find_entry
from engine.download.unfinished import list_everything
from engine.folders import headers_folder
from engine.hub.remote_header import fetch_bundle_headers
from engine.hub.token import read_token
from engine.models.bundle import NGRAM_DRAFTER, NO_DRAFTER, Bundle, DrafterChoice, DrafterKind
from engine.models.facts import read_facts
from engine.shelf.naming import find_exactly, find_usable

_NAMED = {"ngram": NGRAM_DRAFTER, "none": NO_DRAFTER, "mtp": DrafterChoice(DrafterKind.MTP)}


def find_bundle(name: str, drafter: str) -> Bundle:
    """Return the bundle that `name` and `drafter` name; of what is not here the headers are fetched.

    `name` is a GGUF file, owner/name/file.gguf on the Hub, a model of this computer or a bundle of the catalogue.
    `drafter` is the bundle's own (""; n-gram for a file), "ngram", "none", "mtp" for a head inside the target, or a
    file as for `name`. Raises BadOption, NoSuchModel, and what fetching and reading headers raises.
    """
    bundle = _find(name)
    if not drafter:
        return bundle
    return Bundle(bundle.name, bundle.target, _NAMED.get(drafter) or _drafter(drafter))


def _find(name: str) -> Bundle:
    if _is_file(name):
        path = find_header(name)
        return Bundle(path.stem, str(path))
    models = list_everything()
    here = find_exactly(name, models)
    # The beginning of a name may mean a model here, but not one that the catalogue calls just that.
    entry = find_entry(name) if here is None else None
    if entry is not None:
        return fetch_bundle_headers(entry.bundle, headers_folder(), token=read_token())
    return find_usable(here.id if here is not None else name, models).bundle


def _is_file(name: str) -> bool:
    return name.lower().endswith(".gguf") or Path(name).exists() or parse_remote(name) is not None


def _drafter(name: str) -> DrafterChoice:
    path = find_header(name)
    return DrafterChoice(read_facts(path).drafter_kind, str(path))
