"""Results made of made-up records."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bench.figures import category_figures, overall_figures
from engine.bench.results import BenchResult, BenchRunRecord
from tests.engine.bench.records import MACHINE, record

DRAFTS = (20, 20)


def result_of(
    runs: Sequence[BenchRunRecord], *, temperature: float = 0.0, is_complete: bool = True
) -> BenchResult:
    """Return a result with the modes in the order in which they come first in `runs`."""
    figures = category_figures(runs, tuple(dict.fromkeys(run.mode for run in runs)))
    return BenchResult(
        bundle="Some bundle",
        target="target.gguf",
        drafter="small.gguf",
        temperature=temperature,
        machine=MACHINE,
        figures=figures,
        overall=overall_figures(figures, runs),
        runs=tuple(runs),
        measured_at="2026-11-29T12:00:00+00:00",
        is_complete=is_complete,
    )


def raced(
    category: str, mode: str, speedup: float, accepted: float, *, prefill_s: float = 0.1
) -> list[BenchRunRecord]:
    """Return one task of `category` that wrote 10 tokens/s plain and `speedup` times that in `mode`."""
    good = tuple(round(n * accepted) for n in DRAFTS)
    return [
        record(f"{category}-1", "off", 10.0, prefill_s=prefill_s),
        record(f"{category}-1", mode, 10.0 * speedup, drafted=DRAFTS, accepted=good, prefill_s=prefill_s),
    ]
