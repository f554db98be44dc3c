"""What Slipstream downloaded itself, and what else lies in its folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.bundles.store import file_path, pending_bundles, read_manifests
from engine.errors import UnsafeName
from engine.models.remote import RemoteBundle
from engine.shelf.found import FoundFile, group_of
from engine.shelf.hub_cache import files_in_hub_cache
from engine.shelf.installed_model import Place
from engine.shelf.walk import gguf_files


@dataclass(frozen=True, slots=True)
class DownloadedBundle:
    """A bundle that came whole; `drafter` None where it has no file of its own."""

    remote: RemoteBundle
    target: Path
    drafter: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.target,) if self.drafter is None else (self.target, self.drafter)


def read_downloaded(folder: Path) -> tuple[DownloadedBundle, ...]:
    """Return the bundles of which `folder` has a manifest; one whose manifest names no usable file is left out."""
    found = []
    for manifest in read_manifests(folder):
        bundle = manifest.bundle
        try:
            paths = [file_path(folder, parts[0]) for parts in (bundle.target, bundle.drafter) if parts]
        except UnsafeName:
            continue
        if bundle.target:
            found.append(DownloadedBundle(bundle, paths[0], paths[1] if bundle.drafter else None))
    return tuple(found)


def loose_files(folder: Path) -> Iterator[FoundFile]:
    """Yield every other GGUF of the folder, in the Hub's layout or put there by hand.

    A file of a bundle that is still on its way is none yet, though it may be whole itself.
    """
    coming = set(_paths_of(folder, pending_bundles(folder)))
    for found in files_in_hub_cache(folder):
        if found.path not in coming:
            yield FoundFile(found.path, Place.FOLDER, group=found.group)
    for path in gguf_files(folder):
        if path not in coming:
            yield FoundFile(path, Place.FOLDER, group=group_of(path))


def _paths_of(folder: Path, bundles: Iterable[RemoteBundle]) -> Iterator[Path]:
    for bundle in bundles:
        with contextlib.suppress(UnsafeName):
            yield from [file_path(folder, file) for file in bundle.files]
