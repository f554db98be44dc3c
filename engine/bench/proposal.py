"""What to take, in one sentence: the same in the window, in the terminal and on every card."""

from __future__ import annotations

from engine.bench.plan import OFF, mode_phrase
from engine.bench.results import FASTER, SLOWER, BenchResult, ModeFigures


def best_sentence(result: BenchResult) -> str:
    """Return "Best for you: draft length auto, +42% at temperature 0."; "" where nothing was compared."""
    best = result.proposed_mode
    if best is None or best.speedup is None:
        return ""
    begin = f"Best {'for you' if result.is_complete else 'so far'}: {mode_phrase(best.mode)}"
    if best.speedup > FASTER:
        return f"{begin}, {best.speedup - 1.0:+.0%} at temperature {result.temperature:g}."
    what = "." if best.is_baseline else ", about as fast as without."
    return f"{begin}{what} {_why_nothing_is_gained(result)}"


def _why_nothing_is_gained(result: BenchResult) -> str:
    """Return what is true of all kinds of text together, and of the one that gains most."""
    drafting = [one for one in result.figures if one.mode != OFF and one.speedup is not None]
    most = max(drafting, key=_speedup, default=None)
    if most is None or SLOWER <= _speedup(most) <= FASTER:
        return "Nothing is gained by guessing ahead here."
    if _speedup(most) < SLOWER:
        return "With this pair guessing ahead only costs time here."
    return (
        f"Over all kinds of text nothing is gained; in {most.category}, {mode_phrase(most.mode)} is "
        f"{_speedup(most):.2f} times as fast."
    )


def _speedup(figures: ModeFigures) -> float:
    return figures.speedup or 0.0
