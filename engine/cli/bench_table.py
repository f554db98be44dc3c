"""What `slipstream bench` shows people: how far it is, and the tables at its end."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bench.advice import DrafterMemory, mode_words, worth_enabling
from engine.bench.card import (
    MODE_HEAD,
    NOTHING,
    best_sentence,
    category_rows,
    machine_words,
    mode_rows,
)
from engine.bench.driver import BenchProgress
from engine.bench.plan import AUTO, OFF
from engine.bench.results import BenchResult
from engine.cli.models.table import print_table
from engine.cli.terminal import printable, width
from engine.cli.wrapping import wrap


def progress_text(at: BenchProgress) -> str:
    """Return "17 of 256: coding-lru-cache, draft 3, about 12 min left"."""
    if at.task is None:
        return "Warming up …"
    how = at.mode if at.mode in (OFF, AUTO) else f"draft {at.mode}"
    left = f", about {_duration(at.left_s)} left" if at.left_s is not None else ""
    return f"{at.n_done + 1} of {at.n_total}: {at.task.id}, {how}{left}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def print_result(result: BenchResult, memory: DrafterMemory | None) -> None:
    """Print tables for people: speed-ups by category and mode, then what each mode did over all."""
    print(f"{result.target} with {result.drafter}, temperature {result.temperature:g}")
    print(machine_words(result.machine))
    if not result.is_complete:
        print("Broken off: this is what there was.")
    modes = tuple(dict.fromkeys(one.mode for one in result.overall))
    print()
    print_table(("", *map(_head, modes)), _rows(result, modes), right=range(1, len(modes) + 1))
    print()
    numbers = range(1, len(MODE_HEAD) - 1)
    print_table(MODE_HEAD, mode_rows(result), right=numbers)
    print()
    mode = result.drafting_mode
    if mode:
        print(f"With {mode_words(mode)}:")
        print_table(MODE_HEAD, category_rows(result, mode), right=numbers)
        print()
    left_out = (f"Left out: {sentence}" for sentence in result.left_out)
    for text in (best_sentence(result), worth_enabling(result, memory), *left_out):
        print("\n".join(wrap(printable(text), max(width(), 40))))


def _head(mode: str) -> str:
    return "off, tok/s" if mode == OFF else mode


def _rows(result: BenchResult, modes: Sequence[str]) -> list[tuple[str, ...]]:
    """Return speeds under "off", under the others speed-ups, or speeds where there is nothing to compare with."""
    by_name = {(one.category, one.mode): one for one in (*result.figures, *result.overall)}
    rows = []
    for category in dict.fromkeys(category for category, _ in by_name):
        cells = []
        for mode in modes:
            one = by_name.get((category, mode))
            if one is None or one.tokens_per_s is None:
                cells.append(NOTHING)
            elif one.is_baseline or one.speedup is None:
                cells.append(f"{one.tokens_per_s:.1f}")
            else:
                cells.append(f"{one.speedup:.2f}×")
        rows.append((category, *cells))
    return rows
