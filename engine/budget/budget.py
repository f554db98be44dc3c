"""A budget: the question, and the answer in bytes per device. Every number of bytes that is shown comes from here."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from engine.models.bundle import ROLLBACK_TOKENS, DrafterChoice
from engine.models.description import Device

CONTEXT_LADDER = (2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576)
CTX_STEP = 256
"""llama.cpp rounds contexts up to a multiple of it."""
USABLE_N_CTX = 8192
"""Nothing is recommended that does not leave room for this many tokens."""


class KvType(StrEnum):
    """How the KV cache stores a number."""

    F16 = "f16"
    Q8_0 = "q8_0"
    Q4_0 = "q4_0"


class Segment(StrEnum):
    """What memory is taken for. The values are the keys of --json."""

    WEIGHTS = "weights"
    KV = "kv"
    STATE = "state"
    """Recurrent state and llama.cpp's snapshots of it."""
    SNAPSHOTS = "snapshots"
    """Recurrent states that Slipstream sets aside in main memory, once it has something to go back to."""
    COMPUTE = "compute"
    OUTPUT = "output"
    DRAFTER_WEIGHTS = "drafter_weights"
    DRAFTER_KV = "drafter_kv"
    DRAFTER_COMPUTE = "drafter_compute"
    DRAFTER_OUTPUT = "drafter_output"
    RACE = "race"
    """The second context of a comparison: its KV, state, snapshots, compute and output."""
    VOCABULARY = "vocabulary"
    """About what tokens and graphs of target and drafter take in main memory, beside all of llama.cpp's accounts."""
    RESERVE = "reserve"
    """Left free for everything that no account covers."""


class BudgetQuestion(msgspec.Struct, frozen=True):
    """What is asked. `target` and the drafter's path are files, whole ones or header-only sparse ones.

    `contexts` () is the ladder up to the model's own limit. `n_gpu_layers` -1: all. `rollback_tokens`: how far
    a running state can be rolled back, which takes a state for each. `held` are bytes by device that are given back
    before it is loaded: what is loaded now.
    """

    target: str
    drafter: DrafterChoice
    contexts: tuple[int, ...] = ()
    kv_types: tuple[KvType, ...] = (KvType.F16,)
    n_gpu_layers: int = -1
    rollback_tokens: int = ROLLBACK_TOKENS
    race: bool = False
    held: tuple[tuple[str, int], ...] = ()


class DeviceUse(msgspec.Struct, frozen=True):
    """What is taken on one device, in bytes by segment; a segment of 0 is left out."""

    device: str
    segments: dict[Segment, int]

    @property
    def needed_bytes(self) -> int:
        """Return what must be free: what is taken, and the reserve."""
        return sum(self.segments.values())

    @property
    def total_bytes(self) -> int:
        """Return what is taken, without the reserve, which stays free."""
        return self.needed_bytes - self.segments.get(Segment.RESERVE, 0)


class ContextBudget(msgspec.Struct, frozen=True):
    """What one context length takes. `short_of_device` is the first device that has too little, "" if all fits."""

    n_ctx: int
    kv_type: KvType
    devices: tuple[DeviceUse, ...]
    short_of_device: str = ""

    @property
    def fits(self) -> bool:
        return not self.short_of_device

    @property
    def total_bytes(self) -> int:
        """Return what is taken on all devices, without the reserve."""
        return sum(use.total_bytes for use in self.devices)

    def segment_bytes(self, segment: Segment) -> int:
        return sum(use.segments.get(segment, 0) for use in self.devices)


class SpeedOrContext(msgspec.Struct, frozen=True):
    """Target and drafter do not both fit at the wished context: the largest with the drafter, and without it."""

    n_ctx_wished: int
    n_ctx_with_drafter: int
    n_ctx_without_drafter: int


class Budget(msgspec.Struct, frozen=True):
    """The answer: one ContextBudget per KV type and context, the types in the order of the question.

    `largest_fit` is the largest context that fits by KV type, in steps of 256; 0: none. `n_gpu_layers_that_fit` is -1
    where all do or there is no GPU, None where it fits with no number of them. `error_fraction` is 0 where
    llama.cpp itself said the numbers, else how far an estimate may be off. `unfit` says in words why a cache type of
    the question cannot be had.
    """

    devices: tuple[Device, ...]
    contexts: tuple[ContextBudget, ...]
    largest_fit: dict[KvType, int]
    n_ctx_train: int
    n_layers: int
    n_gpu_layers_that_fit: int | None = -1
    speed_or_context: SpeedOrContext | None = None
    error_fraction: float = 0.0
    unfit: dict[KvType, str] = msgspec.field(default_factory=dict)

    @property
    def is_estimate(self) -> bool:
        return self.error_fraction > 0

    def at(self, n_ctx: int, kv_type: KvType = KvType.F16) -> ContextBudget | None:
        """Return the budget of exactly `n_ctx` tokens, None if it was not asked."""
        return next((c for c in self.contexts if (c.n_ctx, c.kv_type) == (n_ctx, kv_type)), None)
