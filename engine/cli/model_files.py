"""From what a person types for a model to files that can be measured."""

from __future__ import annotations

from pathlib import Path

from engine.cli.model_argument import find_header, parse_remote
from engine.cli.models.show import find_entry
from engine.errors import FileGone
from engine.folders import headers_folder
from engine.hub.remote_header import fetch_bundle_headers
from engine.hub.token import read_token
from engine.models.bundle import NGRAM_DRAFTER, NO_DRAFTER, Bundle, DrafterChoice, DrafterKind
from engine.models.facts import read_facts
from engine.models.installed import list_shelf
from engine.models.naming import find_exactly
from engine.models.remote import RemoteBundle


def find_bundle(name: str, drafter: str) -> Bundle:
    """Return the bundle that `name` and `drafter` name, as files that llama.cpp can measure.

    `name` is a GGUF file here, a model that `slipstream models list` shows, a bundle of the catalogue, or
    owner/name/file.gguf on the Hub; of what is not here the headers are fetched. `drafter` is the bundle's own (""),
    "ngram", "none", "mtp" for a head inside the target, or a file as for `name`. Raises FileGone, and what fetching
    headers raises.
    """
    if not Path(name).exists() and (bundle := _named_bundle(name)) is not None:
        return bundle if not drafter else Bundle(bundle.name, bundle.target, _drafter(drafter))
    path = _find_file(name)
    return Bundle(path.stem, str(path), _drafter(drafter or "ngram"))


def _named_bundle(name: str) -> Bundle | None:
    """Return the model here, or the catalogue's bundle, of exactly that name: its own files need no network."""
    if name.lower().endswith(".gguf"):
        return None
    here = find_exactly(name, list_shelf())
    if here is not None:
        return here.bundle
    entry = find_entry(name)
    return fetch_bundle(entry.bundle) if entry is not None else None


def fetch_bundle(remote: RemoteBundle) -> Bundle:
    """Return `remote` with header-only files in place of its own; raises what fetching headers raises."""
    return fetch_bundle_headers(remote, headers_folder(), token=read_token())


def _drafter(text: str) -> DrafterChoice:
    named = {"ngram": NGRAM_DRAFTER, "none": NO_DRAFTER, "mtp": DrafterChoice(DrafterKind.MTP)}
    if text in named:
        return named[text]
    path = _find_file(text)
    return DrafterChoice(read_facts(path).drafter_kind, str(path))


def _find_file(name: str) -> Path:
    if parse_remote(name) is None and not Path(name).is_file():
        raise FileGone(
            f"There is no file, bundle or repository file “{name}”.",
            remedy="Name a GGUF file, a model of `slipstream models list`, a bundle of `slipstream models recommend`, "
            "or owner/name/file.gguf.",
        )
    return find_header(name)
