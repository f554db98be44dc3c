"""The one budget function: what a bundle takes at each context, what fits, and what would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.budget.budget import (
    CONTEXT_LADDER,
    USABLE_N_CTX,
    Budget,
    BudgetQuestion,
    ContextBudget,
    DeviceUse,
    KvType,
    Segment,
    SpeedOrContext,
)
from engine.budget.measures import Measures, SegmentBytes, UseByDevice, Way
from engine.budget.room import HOST, Room, has_gpu, room_of
from engine.budget.search import largest_context, largest_that_fits
from engine.errors import KvTypeUnfit
from engine.models.description import Device

ALL_LAYERS: Final = -1
_RACED: Final = (Segment.KV, Segment.STATE, Segment.SNAPSHOTS, Segment.COMPUTE, Segment.OUTPUT)
_NOT_AT_FIRST: Final = (Segment.VOCABULARY, Segment.SNAPSHOTS)
_SNAPSHOTS_OF_RACE: Final = 0.5
"""The second context never drafts: of the two states that may be set aside only the one at the prompt's end is."""


def budget(question: BudgetQuestion, measures: Measures, devices: Sequence[Device]) -> Budget:
    """Return what `question` asks; raises what `measures` raises, but for KvTypeUnfit.

    A type that the model's cache cannot be stored in has no contexts, 0 as its largest, and its reason in `unfit`.
    """
    return _Reckoning(question, measures, room_of(devices), devices).budget()


@dataclass(slots=True)
class _Reckoning:
    """One budget in the making; `measured` keeps what was asked before."""

    question: BudgetQuestion
    measures: Measures
    room: Room
    devices: Sequence[Device]
    measured: dict[Way, ContextBudget] = field(default_factory=dict)

    def budget(self) -> Budget:
        contexts: list[ContextBudget] = []
        largest: dict[KvType, int] = {}
        unfit: dict[KvType, str] = {}
        for kv_type in self.question.kv_types:
            try:
                contexts += [self.at(self.way(n_ctx, kv_type)) for n_ctx in self.ladder()]
                largest[kv_type] = self.largest_context(kv_type)
            except KvTypeUnfit as reason:
                largest[kv_type], unfit[kv_type] = 0, reason.sentence
        fitting = [kv_type for kv_type in self.question.kv_types if kv_type not in unfit]
        return Budget(
            devices=tuple(self.devices),
            contexts=tuple(contexts),
            largest_fit=largest,
            n_ctx_train=self.measures.n_ctx_train,
            n_layers=self.measures.n_layers,
            n_gpu_layers_that_fit=self.layers_that_fit(fitting[0]) if fitting else ALL_LAYERS,
            speed_or_context=self.speed_or_context(fitting[0], largest) if fitting else None,
            unfit=unfit,
        )

    # ---------------------------------------------------------------------------------------------- one context

    def way(self, n_ctx: int, kv_type: KvType) -> Way:
        return Way(n_ctx, kv_type, self.question.n_gpu_layers)

    def at(self, way: Way) -> ContextBudget:
        if way not in self.measured:
            taken = self.measures.use(way)
            self.measured[way] = context_budget(way, taken, self.room, race=self.question.race)
        return self.measured[way]

    def spare(self, way: Way) -> int:
        """Return what is left of the device that has least left, negative if it does not fit."""
        uses = self.at(way).devices
        return self.room.spare_bytes({use.device: use.needed_bytes for use in uses})[0]

    def spare_on_gpus(self, way: Way) -> int:
        """Return the same of the GPUs alone: main memory has the more left, the more layers they take."""
        uses = self.at(way).devices
        return self.room.spare_bytes({use.device: use.needed_bytes for use in uses if use.device != HOST})[0]

    # ------------------------------------------------------------------------------------------------ contexts

    def ladder(self) -> tuple[int, ...]:
        """Return the contexts to tell: those asked for, or the usual ones and the model's own limit."""
        if self.question.contexts:
            return self.question.contexts
        limit = self.measures.n_ctx_train or CONTEXT_LADDER[-1]
        steps = [n_ctx for n_ctx in CONTEXT_LADDER if n_ctx < limit]
        return (*steps, min(limit, CONTEXT_LADDER[-1]))

    def largest_context(self, kv_type: KvType, *, with_drafter: bool = True) -> int:
        """Return the largest context that fits, of those that engine.budget.search tries up to the model's limit."""

        def spare(n_ctx: int) -> int:
            return self.spare(Way(n_ctx, kv_type, self.question.n_gpu_layers, with_drafter))

        return largest_context(spare, self.measures.n_ctx_train or CONTEXT_LADDER[-1])

    # ------------------------------------------------------------------------------------- layers and drafters

    def layers_that_fit(self, kv_type: KvType) -> int | None:
        """Return how many layers fit on the GPU at the first context asked for, ALL_LAYERS for all.

        None where main memory cannot hold the others.
        """
        if not has_gpu(self.devices):
            return ALL_LAYERS
        n_layers = self.measures.n_layers
        limit = self.measures.n_ctx_train or USABLE_N_CTX
        n_ctx = self.question.contexts[0] if self.question.contexts else min(limit, USABLE_N_CTX)
        if self.spare(Way(n_ctx, kv_type)) >= 0:
            return ALL_LAYERS
        found = largest_that_fits(lambda n: self.spare_on_gpus(Way(n_ctx, kv_type, n)), 0, n_layers)
        return found if found >= 0 and self.spare(Way(n_ctx, kv_type, found)) >= 0 else None

    def speed_or_context(self, kv_type: KvType, largest: Mapping[KvType, int]) -> SpeedOrContext | None:
        """Return the choice where the wished context fits only without the drafter, or not even then."""
        if not self.question.drafter.kind.has_weights:
            return None
        wished = max(self.ladder())
        if largest[kv_type] >= wished:
            return None
        without = self.largest_context(kv_type, with_drafter=False)
        return SpeedOrContext(wished, largest[kv_type], without) if without > largest[kv_type] else None


def context_budget(way: Way, taken: UseByDevice, room: Room, *, race: bool) -> ContextBudget:
    """Return what loading in this `way` takes: `taken`, a race's second context, and each device's reserve."""
    uses = []
    for device, segments in taken.items():
        whole = dict(segments)
        whole[Segment.RACE] = raced_bytes(segments) if race else 0
        whole[Segment.RESERVE] = room.reserve_bytes.get(device, 0)
        uses.append(DeviceUse(device, {segment: n for segment, n in whole.items() if n}))
    spare, device = room.spare_bytes({use.device: use.needed_bytes for use in uses})
    return ContextBudget(way.n_ctx, way.kv_type, tuple(uses), device if spare < 0 else "")


def raced_bytes(segments: SegmentBytes) -> int:
    """Return what the second context of a race takes beside a first one that takes `segments`."""
    if Segment.RACE not in segments:
        return sum(segments.get(segment, 0) for segment in _RACED)
    return segments[Segment.RACE] + round(_SNAPSHOTS_OF_RACE * segments.get(Segment.SNAPSHOTS, 0))


def predicted_bytes(taken: UseByDevice, *, race: bool) -> dict[str, int]:
    """Return what llama.cpp's account of `taken` will come to by device: no reserve, no vocabulary, and no snapshots,
    which are taken later.
    """
    counted: dict[str, SegmentBytes] = {
        device: {segment: n for segment, n in segments.items() if segment not in _NOT_AT_FIRST}
        for device, segments in taken.items()
    }
    return {
        device: sum(n for segment, n in segments.items() if segment is not Segment.RACE)
        + (raced_bytes(segments) if race else 0)
        for device, segments in counted.items()
    }
