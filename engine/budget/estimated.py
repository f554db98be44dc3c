"""Estimates in the shape in which llama.cpp is asked, so that the budget function takes either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
_OF_LAYERS = (Segment.WEIGHTS, Segment.KV, Segment.STATE)
_OF_DRAFTER_LAYERS = (Segment.DRAFTER_WEIGHTS, Segment.DRAFTER_KV)
_IN_MAIN_MEMORY = frozenset({Segment.OUTPUT, Segment.DRAFTER_OUTPUT, Segment.VOCABULARY, Segment.SNAPSHOTS})


@dataclass(frozen=True, slots=True)
class EstimatedEntry:
    """Measures (engine/budget/measures.py) out of a catalogue's facts; layers for a GPU go to `device`."""

    entry: CatalogueEntry
    device: str

    @property
    def n_ctx_train(self) -> int:
        return self.entry.bundle.n_ctx_train

    @property
    def n_layers(self) -> int:
        return self.entry.memory.n_layers

    def use(self, way: Way) -> UseByDevice:
        taken = estimate_entry(self.entry, way.n_ctx, way.kv_type, race=False)
        return _spread(taken, self.device, way, self.n_layers, self.n_layers)


@dataclass(frozen=True)
class EstimatedFiles:
    """Measures out of headers; `drafter` None: no weights of its own. Layers for a GPU go to `device`.

    `n_rs_seq` is how many snapshots of a running state the drafter wants llama.cpp to keep.
    `use` raises NotAModelFile where no model can have what a header says.
    """

    target: GgufHeader
    drafter: GgufHeader | None
    device: str
    n_rs_seq: int = 0

    @property
    def n_ctx_train(self) -> int:
        return max(self.target.number(f"{self.target.architecture}.context_length"), 0)

    @property
    def n_layers(self) -> int:
        return _n_layers(self.target)

    @cached_property
    def _target_shape(self) -> Shape:
        return shape_of(self.target)

    @cached_property
    def _drafter_shape(self) -> Shape | None:
        return None if self.drafter is None else shape_of(self.drafter)

    def use(self, way: Way) -> UseByDevice:
        n_rs_seq = self.n_rs_seq if way.with_drafter else 0
        taken = estimate_shape(self._target_shape, way.n_ctx, way.kv_type, n_rs_seq=n_rs_seq)
        if self._drafter_shape is not None:
            own = estimate_shape(self._drafter_shape, way.n_ctx, way.kv_type)
            taken[Segment.DRAFTER_WEIGHTS] = own.get(Segment.WEIGHTS, 0)
            taken[Segment.DRAFTER_KV] = own.get(Segment.KV, 0) + own.get(Segment.STATE, 0)
            taken[Segment.DRAFTER_COMPUTE] = own.get(Segment.COMPUTE, 0)
        n_drafter_layers = 0 if self.drafter is None else _n_layers(self.drafter)
        return _spread(taken, self.device, way, self.n_layers, n_drafter_layers)


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


def _n_layers(header: GgufHeader) -> int:
    return max(header.number(f"{header.architecture}.block_count"), 0)


def _spread(
    taken: Mapping[Segment, int], device: str, way: Way, n_layers: int, n_drafter_layers: int
) -> UseByDevice:
    """Return `taken` by device: the share of `way`'s layers on `device`, and where passes are computed."""
    shares = dict.fromkeys(_OF_LAYERS, _share(way, n_layers))
    shares |= dict.fromkeys(_OF_DRAFTER_LAYERS, _share(way, n_drafter_layers))
    shares |= dict.fromkeys(_IN_MAIN_MEMORY, 0.0)
    spread: dict[str, dict[Segment, int]] = {device: {}, HOST: {}}
    for segment, n_bytes in taken.items():
        if segment is Segment.RESERVE or (segment in _DRAFTER and not way.with_drafter):
            continue
        there_bytes = n_bytes if device == HOST else round(n_bytes * shares.get(segment, 1.0))
        for name, part_bytes in ((device, there_bytes), (HOST, n_bytes - there_bytes)):
            if part_bytes:
                spread[name][segment] = part_bytes
    return {name: segments for name, segments in spread.items() if segments}


def _share(way: Way, n_layers: int) -> float:
    """Return the share of layers that `way` puts on the GPU; the output layer counts as one."""
    return 1.0 if way.n_gpu_layers < 0 else min(way.n_gpu_layers / (n_layers + 1), 1.0)
