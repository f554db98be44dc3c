"""What is learned about a bundle on this computer, as plain data that a file can hold."""

from __future__ import annotations

import msgspec


class WidthRecord(msgspec.Struct, frozen=True):
    """A target pass over `width` tokens took `seconds`, by so many passes."""

    width: int
    seconds: float
    n_passes: int


class DraftCostRecord(msgspec.Struct, frozen=True):
    """A draft took `fixed_s`, `step_s` for each token and `missed_s` for each token that it had to catch up with."""

    fixed_s: float
    step_s: float
    missed_s: float
    n_drafts: int


class BucketRecord(msgspec.Struct, frozen=True):
    """Costs within one range of context lengths (`engine.speculation.adaptive.costs.bucket_of`), drafts by source."""

    bucket: int
    widths: tuple[WidthRecord, ...] = ()
    drafts: dict[str, DraftCostRecord] = {}


class SourceRecord(msgspec.Struct, frozen=True):
    """How one source of drafts did at one temperature.

    `accepted[i]` of `judged[i]` tokens near the i-th confidence of `calibration.KNOTS` were accepted (fading counts).
    `chance` is the usual chance of acceptance, `gain` the tokens that asking once usually gained, by `n_asked`.
    """

    accepted: tuple[float, ...] = ()
    judged: tuple[float, ...] = ()
    chance: float = 0.7
    gain: float = 0.0
    n_asked: int = 0


class LearnedRecord(msgspec.Struct, frozen=True):
    """Everything that is learned about one bundle; `sources` by name and temperature."""

    buckets: tuple[BucketRecord, ...] = ()
    sources: dict[str, SourceRecord] = {}
