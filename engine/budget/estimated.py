"""Estimates in the shape in which llama.cpp is asked, so that the budget function takes either."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from engine.budget.budget import Budget, BudgetQuestion, KvType, Segment
from engine.budget.estimate import ERROR_FRACTION, estimate_entry, estimate_shape
from engine.budget.measures import UseByDevice, Way
from engine.budget.reckoning import budget
from engine.budget.room import HOST, has_gpu
from engine.budget.shape import Shape, shape_of
from engine.models.bundle import DrafterChoice
from engine.models.catalogue import CatalogueEntry
from engine.models.description import Device
from engine.models.gguf_header import GgufHeader

_DRAFTER = frozenset(
    {Segment.DRAFTER_WEIGHTS, Segment.DRAFTER_KV, Segment.DRAFTER_COMPUTE, Segment.DRAFTER_OUTPUT}
)
_IN_MAIN_MEMORY = frozenset({Segment.OUTPUT, Segment.DRAFTER_OUTPUT, Segment.VOCABULARY, Segment.SNAPSHOTS})


@dataclass(frozen=True, slots=True)
class EstimatedEntry:
    """Measures (engine/budget/measures.py) out of a catalogue's facts; all layers are on `device`."""

    entry: CatalogueEntry
    device: str

    @property
    def n_ctx_train(self) -> int:
        return self.entry.bundle.n_ctx_train

    @property
    def n_layers(self) -> int:
        return self.entry.memory.n_layers

    def use(self, way: Way) -> UseByDevice:
        return _spread(estimate_entry(self.entry, way.n_ctx, way.kv_type, race=False), self.device, way)


@dataclass(frozen=True)
class EstimatedFiles:
    """Measures out of headers; `drafter` None: no weights of its own.

    `use` raises NotAModelFile where no model can have what a header says.
    """

    target: GgufHeader
    drafter: GgufHeader | None
    device: str

    @property
    def n_ctx_train(self) -> int:
        return max(self.target.number(f"{self.target.architecture}.context_length"), 0)

    @property
    def n_layers(self) -> int:
        return max(self.target.number(f"{self.target.architecture}.block_count"), 0)

    @cached_property
    def _target_shape(self) -> Shape:
        return shape_of(self.target)

    @cached_property
    def _drafter_shape(self) -> Shape | None:
        return None if self.drafter is None else shape_of(self.drafter)

    def use(self, way: Way) -> UseByDevice:
        taken = estimate_shape(self._target_shape, way.n_ctx, way.kv_type)
        if self._drafter_shape is not None:
            own = estimate_shape(self._drafter_shape, way.n_ctx, way.kv_type)
            taken[Segment.DRAFTER_WEIGHTS] = own.get(Segment.WEIGHTS, 0)
            taken[Segment.DRAFTER_KV] = own.get(Segment.KV, 0) + own.get(Segment.STATE, 0)
            taken[Segment.DRAFTER_COMPUTE] = own.get(Segment.COMPUTE, 0)
        return _spread(taken, self.device, way)


def estimated_budget(
    question: BudgetQuestion, measures: EstimatedEntry | EstimatedFiles, devices: Sequence[Device]
) -> Budget:
    """Return the answer to `question` out of estimates, marked as one."""
    found = budget(question, measures, devices)
    # An estimate knows nothing of single layers.
    return msgspec.structs.replace(found, error_fraction=ERROR_FRACTION, n_gpu_layers_that_fit=-1)


def main_device(devices: Sequence[Device], n_gpu_layers: int) -> str:
    """Return where the layers go: the first GPU, or main memory."""
    if n_gpu_layers == 0 or not has_gpu(devices):
        return HOST
    return next(device.name for device in devices if device.kind in ("gpu", "igpu"))


def estimate_of_entry(
    entry: CatalogueEntry,
    devices: Sequence[Device],
    *,
    contexts: tuple[int, ...] = (),
    kv_types: tuple[KvType, ...] = (KvType.F16,),
    n_gpu_layers: int = -1,
    race: bool = False,
) -> Budget:
    """Return what `entry` would take, out of the catalogue alone: for when its headers cannot be fetched."""
    drafter = DrafterChoice(entry.bundle.drafter_kind)
    question = BudgetQuestion("", drafter, contexts, kv_types, n_gpu_layers, race=race)
    return estimated_budget(question, EstimatedEntry(entry, main_device(devices, n_gpu_layers)), devices)


def _spread(taken: dict[Segment, int], device: str, way: Way) -> UseByDevice:
    spread: dict[str, dict[Segment, int]] = {device: {}, HOST: {}}
    for segment, n_bytes in taken.items():
        if segment is Segment.RESERVE or (segment in _DRAFTER and not way.with_drafter):
            continue
        spread[HOST if segment in _IN_MAIN_MEMORY else device][segment] = n_bytes
    return {name: segments for name, segments in spread.items() if segments}
