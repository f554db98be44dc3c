"""What passes and drafts cost on this computer: learned while running, per context length."""

from __future__ import annotations

import math
from typing import Final

from engine.speculation.adaptive.draft_costs import DraftCosts
from engine.speculation.adaptive.pass_costs import MAX_WIDTH, N_ENOUGH, CostTable, PassCosts
from engine.speculation.adaptive.record import BucketRecord, DraftCostRecord, WidthRecord
from engine.speculation.adaptive.samples import MOST_SURPRISE, Samples
from engine.speculation.round import DraftSource

BLOCK_SOURCES: Final = frozenset({DraftSource.DFLASH, DraftSource.DSPARK})
"""These draft a whole block in one pass."""

_SOURCE_NAMES: Final = frozenset(str(source) for source in DraftSource)
_FIRST_BUCKET_TOKENS: Final = 512
_PACE_RATE: Final = 0.2
_N_REMEMBERED: Final = 5
"""What was measured in an earlier run weighs like so many measurements of this one: a computer changes."""
_SINGLE_EVERY: Final = 64
_SINGLE_EVERY_FIRST: Final = 8
_N_SURE: Final = 8
_SHORTEST_S: Final = 1e-7
_LONGEST_S: Final = 1e4
"""What is shorter or longer than anything that computers do was not measured: a clock stood still, or jumped."""


def bucket_of(n_cached: int) -> int:
    """Return the range of context lengths that `n_cached` tokens lie in: below 512, then one for each doubling."""
    return (n_cached // _FIRST_BUCKET_TOKENS).bit_length()


class Costs:
    """Passes of one target and drafts for it.

    The computer's momentary pace is kept apart from the costs: while another program slows everything by half, no ratio
    between two costs changes, and none may be learned wrongly because only one of the two was measured meanwhile. The
    pace is that of a yardstick, the first single pass that is known well, which is never learned anew: two quantities
    that both follow what is measured would drift against each other without end.
    """

    def __init__(self) -> None:
        self._passes: dict[int, PassCosts] = {}
        self._drafts: dict[tuple[int, DraftSource], DraftCosts] = {}
        self._yardstick: Samples | None = None
        self._log_pace = 0.0
        self._n_paced = 0
        self._since_single = 0

    @property
    def pace(self) -> float:
        """How many times its usual time everything takes at the moment."""
        return math.exp(self._log_pace)

    def table(self, n_cached: int) -> CostTable | None:
        """Return the costs of passes after `n_cached` tokens, None before anything was measured."""
        return self._bucket(bucket_of(n_cached)).table()

    def drafts(self, n_cached: int, source: DraftSource) -> DraftCosts | None:
        """Return what `source` takes to draft after `n_cached` tokens, None before it drafted."""
        bucket = bucket_of(n_cached)
        found = self._drafts.get((bucket, source))
        if found is not None:
            return found
        near = [key for key in self._drafts if key[1] is source]
        return self._drafts[min(near, key=lambda key: abs(key[0] - bucket))] if near else None

    def lacks_single(self, n_cached: int) -> bool:
        """Whether a pass over one token should be measured next: everything is weighed against that."""
        costs = self._bucket(bucket_of(n_cached))
        n = costs.widths[1].n if 1 in costs.widths else 0
        is_old = self._since_single >= min(_SINGLE_EVERY, _SINGLE_EVERY_FIRST * n)
        return is_old or costs.known_s(1) is None or (n < _N_SURE and costs.is_single_dear())

    def add_pass(self, n_pass: int, n_cached: int, seconds: float) -> None:
        """Learn from a pass over `n_pass` tokens; one that is wider than any draft is left out."""
        if not (1 <= n_pass <= MAX_WIDTH and _SHORTEST_S <= seconds < _LONGEST_S):
            return
        self._since_single = 0 if n_pass == 1 else self._since_single + 1
        costs = self._bucket(bucket_of(n_cached))
        samples, pace = costs.widths.get(n_pass), self.pace
        if samples is not None and samples.is_settled:
            if self._yardstick is None and n_pass == 1:
                self._yardstick = samples
            if self._yardstick is not None:
                self._keep_pace(math.log(seconds / samples.usual))
            if samples is self._yardstick:
                samples.count()
                return
        # By the pace from before this pass: both then follow one and the same surprise, and settle at one place.
        costs.add(n_pass, seconds / pace)

    def add_draft(
        self, source: DraftSource, n_cached: int, n_steps: int, n_missed: int, seconds: float
    ) -> None:
        """Learn from a draft of `n_steps` steps after `n_missed` tokens that the drafter had to catch up with."""
        if not _SHORTEST_S <= seconds < _LONGEST_S:
            return
        key = (bucket_of(n_cached), source)
        if key not in self._drafts:
            near = self.drafts(n_cached, source)
            self._drafts[key] = (
                DraftCosts(source in BLOCK_SOURCES)
                if near is None
                else DraftCosts.remembered(near.is_block, near.fixed_s, near.step_s, near.missed_s, near.n)
            )
        self._drafts[key].add(n_steps, n_missed, seconds / self.pace)

    def records(self) -> tuple[BucketRecord, ...]:
        """Return what is known, for a file."""
        buckets = sorted({*self._passes, *(bucket for bucket, _ in self._drafts)})
        return tuple(self._record(bucket) for bucket in buckets)

    @classmethod
    def remembered(cls, records: tuple[BucketRecord, ...]) -> Costs:
        """Begin with `records`; what cannot be true in them is left out."""
        costs = cls()
        for record in records:
            if not 0 <= record.bucket < 32:
                continue
            costs._restore(record)
        return costs

    def _keep_pace(self, log_ratio: float) -> None:
        self._n_paced += 1
        rate = max(_PACE_RATE, 1.0 / (self._n_paced + 1))
        change = log_ratio - self._log_pace
        self._log_pace += rate * min(max(change, -MOST_SURPRISE), MOST_SURPRISE)

    def _bucket(self, bucket: int) -> PassCosts:
        costs = self._passes.get(bucket)
        if costs is None:
            near = min(self._passes, key=lambda other: abs(other - bucket), default=None)
            costs = self._passes[bucket] = PassCosts()
            if near is not None:
                # Longer contexts cost more, but by little from one range to the next.
                for width, samples in self._passes[near].widths.items():
                    costs.widths[width] = Samples.borrowed(samples.usual, min(samples.n, N_ENOUGH))
        return costs

    def _record(self, bucket: int) -> BucketRecord:
        passes = self._passes.get(bucket)
        widths = () if passes is None else sorted(passes.widths.items())
        return BucketRecord(
            bucket,
            tuple(WidthRecord(width, samples.usual, samples.n) for width, samples in widths),
            {
                str(source): DraftCostRecord(costs.fixed_s, costs.step_s, costs.missed_s, costs.n)
                for (at, source), costs in self._drafts.items()
                if at == bucket
            },
        )

    def _restore(self, record: BucketRecord) -> None:
        sane = [
            one
            for one in record.widths
            if 1 <= one.width <= MAX_WIDTH and _SHORTEST_S <= one.seconds < _LONGEST_S
        ]
        if sane:
            passes = self._passes[record.bucket] = PassCosts()
            for one in sane:
                passes.widths[one.width] = Samples(one.seconds, min(max(one.n_passes, 1), _N_REMEMBERED))
        for name, draft in record.drafts.items():
            times = (draft.fixed_s, draft.step_s, draft.missed_s)
            if name in _SOURCE_NAMES and all(0.0 <= time_s < _LONGEST_S for time_s in times):
                source = DraftSource(name)
                self._drafts[record.bucket, source] = DraftCosts.remembered(
                    source in BLOCK_SOURCES, *times, min(max(draft.n_drafts, 0), _N_REMEMBERED)
                )
