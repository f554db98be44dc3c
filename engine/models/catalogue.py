"""The curated catalogue: bundles that are known to go well together, with facts that need no network."""

from __future__ import annotations

from importlib.resources import files

import msgspec

from engine.errors import DamagedCatalogue
from engine.models.remote import RemoteBundle, RemoteFile


class MeasuredSpeedup(msgspec.Struct, frozen=True):
    """A speed-up that somebody measured: `low` to `high` times plain decoding on `hardware`, as told by `source`.

    `device_kind` is "gpu" (discrete), "apple", "igpu" or "cpu".
    """

    low: float
    high: float
    hardware: str
    device_kind: str
    source: str


class MemoryFacts(msgspec.Struct, frozen=True):
    """What an estimate needs where no header is at hand.

    `n_layers` 0: nothing is known. `kv_bytes_per_token` at 16 bits over the layers that look back all the way;
    `window_bytes` for those that look back a window; `state_bytes` for one snapshot of recurrent layers.
    `drafter_kv_bytes_per_token` likewise for the drafter. `active_fraction` is the share of the weights that a token
    reads: below 1 for a mixture of experts.
    """

    n_layers: int
    kv_bytes_per_token: int
    window_bytes: int = 0
    state_bytes: int = 0
    drafter_kv_bytes_per_token: int = 0
    active_fraction: float = 1.0


class CatalogueEntry(msgspec.Struct, frozen=True):
    """One bundle of the catalogue. `good_at` is one short line, `about` a paragraph.

    `is_verified` False: the files' facts come from third parties, and the Hub is asked before the first download.
    `rough_target_bytes`, `rough_drafter_bytes` say about how large files are whose exact size is not known, else 0.
    `architecture` is the target's, as its GGUF says. `released` is the target's month ("2026-08") or year, "" if nobody
    knows.
    """

    bundle: RemoteBundle
    good_at: str
    about: str
    n_params: int
    memory: MemoryFacts
    speedups: tuple[MeasuredSpeedup, ...] = ()
    is_verified: bool = False
    rough_target_bytes: int = 0
    rough_drafter_bytes: int = 0
    architecture: str = ""
    released: str = ""

    @property
    def target_bytes(self) -> int:
        """Return the target's size, exact where it is known, else rough, else 0."""
        return _sum_of_sizes(self.bundle.target) or self.rough_target_bytes

    @property
    def drafter_bytes(self) -> int:
        """Return the drafter's size likewise; 0 too where it has no file."""
        return _sum_of_sizes(self.bundle.drafter) or self.rough_drafter_bytes

    @property
    def is_size_exact(self) -> bool:
        return self.bundle.size_bytes > 0


class _Id(msgspec.Struct):
    id: str


class _Named(msgspec.Struct):
    """As much of an entry as it takes to name it."""

    bundle: _Id


def load_catalogue() -> tuple[CatalogueEntry, ...]:
    """Return the entries that ship with Slipstream, from small to large; raises DamagedCatalogue."""
    return parse_catalogue(files("resources").joinpath("catalogue.json").read_bytes())


def parse_catalogue(data: bytes) -> tuple[CatalogueEntry, ...]:
    """Return the entries of a catalogue file; raises DamagedCatalogue, which names the entry that is wrong."""
    try:
        raw_entries = msgspec.json.decode(data, type=list[msgspec.Raw])
    except msgspec.DecodeError as error:
        raise _damaged("It is not a list of entries.", str(error)) from error
    entries = tuple(_parse_entry(raw, index) for index, raw in enumerate(raw_entries))
    return tuple(sorted(entries, key=lambda entry: entry.target_bytes + entry.drafter_bytes))


def _parse_entry(raw: msgspec.Raw, index: int) -> CatalogueEntry:
    try:
        return msgspec.json.decode(raw, type=CatalogueEntry)
    except msgspec.DecodeError as error:
        raise _damaged(f"Entry {_name_of(raw) or index + 1} is wrong.", str(error)) from error


def _name_of(raw: msgspec.Raw) -> str:
    try:
        return f"“{msgspec.json.decode(raw, type=_Named).bundle.id}”"
    except msgspec.DecodeError:
        return ""


def _damaged(what: str, detail: str) -> DamagedCatalogue:
    return DamagedCatalogue(
        f"The list of models that comes with Slipstream is damaged. {what}",
        remedy="Install Slipstream again. Models on this computer and on the Hub can still be used.",
        detail=detail,
    )


def _sum_of_sizes(parts: tuple[RemoteFile, ...]) -> int:
    sizes = [part.size_bytes for part in parts]
    return sum(sizes) if all(sizes) else 0
