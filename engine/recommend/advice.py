"""What is known about this computer's speed, what is expected of a bundle here, and what is recommended."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class DeviceSpeed(msgspec.Struct, frozen=True):
    """What one device was measured to do: reading weights, and decoding with a small real model (0: not tried)."""

    device: str
    bandwidth_bytes_per_s: float
    small_model_tokens_per_s: float = 0.0
    small_model_bytes: int = 0
    measured_at: str = ""


class ComputerSpeed(msgspec.Struct, frozen=True):
    """What was measured on this computer, device by device; () before the first time.

    `was_busy`: other programs took much of the processor meanwhile, so that it is likely to be faster than measured.
    """

    devices: tuple[DeviceSpeed, ...] = ()
    was_busy: bool = False


class SpeedRange(msgspec.Struct, frozen=True):
    """Tokens per second from `low` to `high`. `is_measured`: this computer's own figures, not a forecast."""

    low_tokens_per_s: float
    high_tokens_per_s: float
    is_measured: bool = False


class Fit(StrEnum):
    """How a bundle fits this computer. `TIGHT`: with 8192 tokens, but with less than a tenth to spare."""

    FITS = "fits"
    TIGHT = "tight"
    PARTLY_ON_CPU = "partly-on-cpu"
    DOES_NOT_FIT = "does-not-fit"
    UNKNOWN = "unknown"


class Advice(msgspec.Struct, frozen=True):
    """What is expected of one bundle here.

    `plain` and `speculative` are None where nothing can be said. `rank` counts recommended bundles from 1, 0: not
    recommended. `sentence` says why this one, what it costs and what would make it better; of one that is not
    recommended why not, "" where `fit_sentence` says enough, which has the numbers behind the badge. `is_estimate`: the
    memory is estimated from facts, not told by llama.cpp.
    """

    id: str
    fit: Fit
    fit_sentence: str
    plain: SpeedRange | None = None
    speculative: SpeedRange | None = None
    rank: int = 0
    sentence: str = ""
    largest_n_ctx: int = 0
    total_bytes: int = 0
    is_estimate: bool = True
