"""The curated catalogue: bundles that are known to go well together, with facts that need no network."""

from __future__ import annotations

import msgspec

from engine.models.remote import RemoteBundle


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

    `kv_bytes_per_token` at 16 bits over the layers that look back all the way; `window_bytes` for those that look back
    a window; `state_bytes` for one snapshot of recurrent layers. `drafter_kv_bytes_per_token` likewise for the drafter.
    `active_fraction` is the share of the weights that a token reads: below 1 for a mixture of experts.
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
    """

    bundle: RemoteBundle
    good_at: str
    about: str
    n_params: int
    memory: MemoryFacts
    speedups: tuple[MeasuredSpeedup, ...] = ()
    is_verified: bool = False
