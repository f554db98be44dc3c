"""What `slipstream bench` shows people: how far it is, and the tables at its end."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bench.advice import worth_enabling, worth_for
from engine.bench.card import (
    MODE_HEAD,
    NOTHING,
    OVERALL_HEAD,
    category_rows,
    figure_rows,
    machine_words,
    mode_rows,
)
from engine.bench.driver import BenchProgress
from engine.bench.plan import AUTO, OFF, mode_phrase
from engine.bench.proposal import best_sentence
from engine.bench.results import BenchResult, ModeFigures
from engine.cli.models.table import print_table
from engine.cli.terminal import printable, width
from engine.cli.wrapping import wrap


def progress_text(at: BenchProgress) -> str:
    """Return "17 of 256: coding-lru-cache, draft 3, about 12 min left"."""
    if at.is_reloading:
        return f"{at.n_done} of {at.n_total}: loading again …"
    if at.task is None:
        return "Warming up …" if at.n_done < at.n_total else f"{at.n_done} of {at.n_total}"
    how = at.mode if at.mode in (OFF, AUTO) else f"draft {at.mode}"
    left = f", about {_duration(at.left_s)} left" if at.left_s is not None else ""
    return f"{at.n_done + 1} of {at.n_total}: {at.task.id}, {how}{left}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def print_result(result: BenchResult, categories: Sequence[str] = ()) -> None:
    """Print tables for people: speed-ups by category and mode, then what each mode did over all.

    The kinds of text that were asked for by name, `categories`, have a paragraph each.
    """
    print(f"{result.target} with {result.drafter}, temperature {result.temperature:g}")
    print(machine_words(result.machine))
    if not result.is_complete:
        print("Broken off: this is what there was.")
    print()
    if result.figures:
        _print_tables(result)
    by_category = [worth_for(result, category) for category in categories]
    left_out = (f"Left out: {sentence}" for sentence in result.left_out)
    for text in (best_sentence(result), worth_enabling(result), *by_category, *left_out):
        print("\n".join(wrap(printable(text), max(width(), 40))))


def _print_tables(result: BenchResult) -> None:
    modes = tuple(dict.fromkeys(one.mode for one in result.overall))
    print_table(("", *map(_head, modes)), figure_rows(result, modes, _cell), right=range(1, len(modes) + 1))
    print()
    numbers = range(1, len(MODE_HEAD) - 1)
    print_table(OVERALL_HEAD, mode_rows(result), right=numbers)
    print()
    mode = result.drafting_mode
    if mode:
        print(f"With {mode_phrase(mode)}:")
        print_table(MODE_HEAD, category_rows(result, mode), right=numbers)
        print()


def _head(mode: str) -> str:
    return "off, tok/s" if mode == OFF else mode


def _cell(one: ModeFigures | None) -> str:
    """Return a speed under "off", under the others a speed-up, or a speed where there is nothing to compare with."""
    if one is None or one.tokens_per_s is None:
        return NOTHING
    return f"{one.tokens_per_s:.1f}" if one.is_baseline or one.speedup is None else f"{one.speedup:.2f}×"
