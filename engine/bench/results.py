"""What came out of a bench: one record per run, and figures per category and mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from engine.bench.plan import AUTO, OFF

_AUTO_IS_AS_GOOD: Final = 0.97


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
    """Where it was measured."""

    system: str
    processor: str
    devices: tuple[str, ...]
    n_threads: int
    slipstream: str
    llama_cpp: str


class BenchResult(msgspec.Struct, frozen=True):
    """A whole bench of one bundle; `figures` has every category in every mode, `overall` the geometric means.

    `left_out` says what could not be measured, a sentence each.
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

    @property
    def best_mode(self) -> ModeFigures | None:
        """The mode of the highest overall speed-up, None where nothing was compared."""
        return max(
            (one for one in self.overall if one.speedup is not None),
            key=lambda one: one.speedup or 0.0,
            default=None,
        )

    @property
    def proposed_mode(self) -> ModeFigures | None:
        """The mode to take: the best one, or auto where that is nearly as fast, for it goes with the text."""
        return proposed(self.overall)

    @property
    def drafting_mode(self) -> str:
        """The mode that stands for speculation: "auto" where it was measured, else the best that drafts, else ""."""
        drafting = [one for one in self.overall if one.mode != OFF]
        if any(one.mode == AUTO for one in drafting):
            return AUTO
        return max(drafting, key=lambda one: one.speedup or 0.0).mode if drafting else ""


def proposed(figures: Sequence[ModeFigures]) -> ModeFigures | None:
    """Return the mode to take among `figures` of the same texts; None where nothing was compared."""
    compared = {one.mode: one for one in figures if one.speedup is not None}
    if not compared.keys() - {OFF}:
        return None
    best = max(compared.values(), key=lambda one: one.speedup or 0.0)
    auto = compared.get(AUTO)
    is_as_good = auto is not None and (auto.speedup or 0.0) >= _AUTO_IS_AS_GOOD * (best.speedup or 0.0)
    return auto if is_as_good else best
