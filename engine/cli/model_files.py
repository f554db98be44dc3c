"""From what a person types for a model to files that can be measured."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Final

from engine.cli.models.show import find_entry
from engine.errors import FileGone
from engine.folders import cache_folder
from engine.hub.remote_header import fetch_header
from engine.hub.token import read_token
from engine.models.bundle import NGRAM_DRAFTER, NO_DRAFTER, Bundle, DrafterChoice, DrafterKind
from engine.models.facts import read_facts
from engine.models.remote import RemoteBundle, RemoteFile

HEADERS_FOLDER: Final = "headers"


def find_bundle(name: str, drafter: str) -> Bundle:
    """Return the bundle that `name` and `drafter` name, as files that llama.cpp can measure.

    `name` is a GGUF file here, owner/name/file.gguf on the Hub, or a bundle of the catalogue; of what is not here the
    headers are fetched. `drafter` is the bundle's own (""), "ngram", "none", "mtp" for a head inside the target, or
    a file as for `name`. Raises FileGone, and what fetching headers raises.
    """
    entry = None if Path(name).exists() else find_entry(name)
    if entry is not None:
        bundle = fetch_bundle(entry.bundle)
        return bundle if not drafter else Bundle(bundle.name, bundle.target, _drafter(drafter))
    path = _find_file(name)
    return Bundle(path.stem, str(path), _drafter(drafter or "ngram"))


def fetch_bundle(remote: RemoteBundle) -> Bundle:
    """Return `remote` with header-only files in place of its own; raises what fetching headers raises."""
    target = _fetch(remote.target[0], remote.target)
    drafter = DrafterChoice(remote.drafter_kind)
    if remote.drafter:
        drafter = DrafterChoice(remote.drafter_kind, str(_fetch(remote.drafter[0], remote.drafter)))
    return Bundle(remote.name, str(target), drafter)


def _drafter(text: str) -> DrafterChoice:
    named = {"ngram": NGRAM_DRAFTER, "none": NO_DRAFTER, "mtp": DrafterChoice(DrafterKind.MTP)}
    if text in named:
        return named[text]
    path = _find_file(text)
    return DrafterChoice(read_facts(path).drafter_kind, str(path))


def _find_file(name: str) -> Path:
    path = Path(name)
    parts = PurePosixPath(name).parts
    if path.exists() or len(parts) < 3 or path.is_absolute() or not name.lower().endswith(".gguf"):
        if not path.is_file():
            raise FileGone(
                f"There is no file, bundle or repository file “{name}”.",
                remedy="Name a GGUF file, a bundle of `slipstream models recommend`, or owner/name/file.gguf.",
            )
        return path
    return _fetch(RemoteFile("/".join(parts[:2]), "/".join(parts[2:])), ())


def _fetch(file: RemoteFile, parts: tuple[RemoteFile, ...]) -> Path:
    return fetch_header(file, cache_folder() / HEADERS_FOLDER, token=read_token(), parts=parts)
