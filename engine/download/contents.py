"""What the headers of downloaded files say: whether a bundle holds models at all, and how its drafter drafts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from engine.bundles.store import file_path
from engine.errors import SlipstreamError, WrongKindOfFile
from engine.models.bundle import DrafterKind
from engine.models.facts import ModelFacts
from engine.models.file_kind import FileKind
from engine.models.remote import RemoteBundle, RemoteFile

ReadFacts = Callable[[Path], ModelFacts]
"""Gives what the header of the model whose first or only file is there says; raises SlipstreamError."""


def unreadable_files(folder: Path, bundle: RemoteBundle, read: ReadFacts) -> frozenset[RemoteFile]:
    """Return the files of those models of `bundle` whose headers cannot be read, or are not there."""
    found: set[RemoteFile] = set()
    for files in filter(None, (bundle.target, bundle.drafter)):
        try:
            read(file_path(folder, files[0]))
        except SlipstreamError:
            found.update(files)
    return frozenset(found)


def checked_contents(folder: Path, bundle: RemoteBundle, read: ReadFacts) -> RemoteBundle:
    """Return `bundle`, which lies in `folder`, with the kind of drafter that the headers tell: names only propose.

    Raise NotAModelFile for what is no whole GGUF, WrongKindOfFile for a drafter's file that drafts nothing.
    """
    target = read(file_path(folder, bundle.target[0]))
    if not bundle.drafter:
        has_no_head = bundle.drafter_kind is DrafterKind.MTP and target.kind is not FileKind.TARGET_WITH_MTP
        return msgspec.structs.replace(bundle, drafter_kind=DrafterKind.NGRAM) if has_no_head else bundle
    return msgspec.structs.replace(bundle, drafter_kind=_kind(folder, bundle, read))


def _kind(folder: Path, bundle: RemoteBundle, read: ReadFacts) -> DrafterKind:
    facts = read(file_path(folder, bundle.drafter[0]))
    if facts.kind is FileKind.UNKNOWN:
        # A newer kind than this llama.cpp knows: its name is all that there is.
        return bundle.drafter_kind
    if facts.drafter_kind is DrafterKind.NONE:
        raise WrongKindOfFile(
            f"“{bundle.drafter[0].name}” is {facts.kind.phrase}, which drafts nothing.",
            remedy=f"{facts.kind.place} The model can be downloaded without it.",
        )
    return facts.drafter_kind
