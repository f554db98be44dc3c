"""What a budget asks llama.cpp: one bundle, loaded in one way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from engine.budget.budget import KvType, Segment

SegmentBytes = Mapping[Segment, int]
UseByDevice = Mapping[str, SegmentBytes]


@dataclass(frozen=True, slots=True)
class Way:
    """A way to load a bundle; `n_gpu_layers` -1: all."""

    n_ctx: int
    kv_type: KvType = KvType.F16
    n_gpu_layers: int = -1
    with_drafter: bool = True


class Measures(Protocol):
    """What llama.cpp says about a bundle. `n_layers` counts the target's layers without the output layer.

    `n_ctx_train` 0: the model does not say how far it can look back.
    """

    @property
    def n_ctx_train(self) -> int: ...

    @property
    def n_layers(self) -> int: ...

    def use(self, way: Way) -> UseByDevice:
        """Return the bytes by device and segment, without a reserve.

        Segment.RACE is what the second context of a race would take beside them, but for states that are set aside.
        Where nothing is said of it, it takes what the first one does.

        Raises KvTypeUnfit where the model's cache cannot be stored so, and LoadFailed.
        """
