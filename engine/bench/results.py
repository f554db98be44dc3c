"""What came out of a bench: one record per run, and figures per category and mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from engine.bench.plan import AUTO, OFF
from engine.measure.verdict import SAME_WITHIN

FASTER: Final = 1.0 + SAME_WITHIN
SLOWER: Final = 1.0 - SAME_WITHIN
"""Between these a difference is no larger than what a computer varies by itself."""


class BenchRunRecord(msgspec.Struct, frozen=True):
    """One answer of one task in one mode. `prefill_s` is all that came before the first token: the prompt through the
    target, and through a drafter that reads it.
    """

    task: str
    category: str
    mode: str
    repeat: int
    n_prompt: int
    n_tokens: int
    tokens_per_s: float | None
    end_to_end_s: float
    prefill_s: float
    rounds: int
    drafted_by_position: tuple[int, ...] = ()
    accepted_by_position: tuple[int, ...] = ()


class ModeFigures(msgspec.Struct, frozen=True):
    """One category in one mode. `speedup` is the geometric mean over tasks of tokens/s over those of "off".

    `tokens_per_s` is the median over runs, with lowest and highest. None: not measured.
    """

    category: str
    mode: str
    n_runs: int
    tokens_per_s: float | None
    tokens_per_s_lowest: float | None
    tokens_per_s_highest: float | None
    speedup: float | None
    acceptance_rate: float | None
    mean_accepted_length: float | None
    acceptance_by_position: tuple[float, ...] = ()

    @property
    def is_baseline(self) -> bool:
        return self.mode == OFF


class Machine(msgspec.Struct, frozen=True):
    """Where it was measured. `chooses_threads`: how many of `n_threads` compute is chosen while running."""

    system: str
    processor: str
    devices: tuple[str, ...]
    n_threads: int
    slipstream: str
    llama_cpp: str
    chooses_threads: bool = False


class DrafterMemory(msgspec.Struct, frozen=True):
    """What the drafter takes in all, and the largest context that fits with and without it (0: not known)."""

    drafter_bytes: int
    n_ctx_with: int = 0
    n_ctx_without: int = 0


class BenchResult(msgspec.Struct, frozen=True):
    """A whole bench of one bundle; `figures` has every category in every mode, `overall` the geometric means.

    `left_out` says what could not be measured, a sentence each. `memory` None: not known.
    """

    bundle: str
    target: str
    drafter: str
    temperature: float
    machine: Machine
    figures: tuple[ModeFigures, ...]
    overall: tuple[ModeFigures, ...]
    runs: tuple[BenchRunRecord, ...] = ()
    measured_at: str = ""
    is_complete: bool = True
    left_out: tuple[str, ...] = ()
    memory: DrafterMemory | None = None

    @property
    def proposed_mode(self) -> ModeFigures | None:
        """The mode to take over all kinds of text, see `proposed`."""
        return proposed(self.overall)

    @property
    def drafting_mode(self) -> str:
        """The mode that stands for speculation: "auto" where it was measured, else the best that drafts, else ""."""
        drafting = [one for one in self.overall if one.mode != OFF]
        if any(one.mode == AUTO for one in drafting):
            return AUTO
        return max(drafting, key=lambda one: one.speedup or 0.0).mode if drafting else ""


def proposed(figures: Sequence[ModeFigures]) -> ModeFigures | None:
    """Return the mode to take among `figures` of the same texts; None where nothing was compared.

    A fixed length has to beat both off and auto, which goes with the text, by more than chance; auto has to cost
    nothing.
    """
    speeds = {one.mode: one.speedup for one in figures if one.speedup is not None}
    if not speeds.keys() - {OFF}:
        return None
    lengths = [mode for mode in speeds if mode not in (OFF, AUTO)]
    fixed = max(lengths, key=lambda mode: speeds[mode], default="")
    auto = speeds.get(AUTO, 0.0)
    mode = AUTO if auto >= SLOWER else OFF
    if fixed and speeds[fixed] > FASTER * max(auto, 1.0):
        mode = fixed
    return next((one for one in figures if one.mode == mode and one.speedup is not None), None)
