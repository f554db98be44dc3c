"""What a bench says, in words and in the order in which it is shown: pure functions of its result."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from app.format import NOTHING_YET, factor, ratio, share, speed
from engine.bench.figures import OVERALL
from engine.bench.plan import AUTO, OFF, mode_phrase
from engine.bench.proposal import best_sentence
from engine.bench.results import BenchResult, ModeFigures, proposed

ALL_KINDS = "All kinds"


class Figure(StrEnum):
    """Which figure of a kind of text and a mode is looked at."""

    SPEEDUP = "speedup"
    SPEED = "speed"
    ACCEPTED = "accepted"
    LENGTH = "length"


FIGURE_WORDS = {
    Figure.SPEEDUP: "Speed-up",
    Figure.SPEED: "Speed",
    Figure.ACCEPTED: "Accepted",
    Figure.LENGTH: "Per pass",
}


def kind_words(category: str) -> str:
    """Return what a kind of text is called; that over all of them has no name in a result's `overall`."""
    return category.replace("_", " ").capitalize()


def mode_words(mode: str) -> str:
    """Return a column's head: "Off", "Auto" or the number."""
    return mode.capitalize()


def mode_order(mode: str) -> tuple[int, int]:
    """Return what sorts modes: off, the numbers, auto."""
    if mode in (OFF, AUTO):
        return (0, 0) if mode == OFF else (2, 0)
    return 1, int(mode)


def modes_of(result: BenchResult) -> tuple[str, ...]:
    """Return the modes that `result` has figures of, off first and auto last."""
    found = {one.mode for one in (*result.figures, *result.overall)}
    return tuple(sorted(found, key=mode_order))


def kinds_of(result: BenchResult) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.category for one in result.figures))


def rows_of(result: BenchResult) -> tuple[tuple[str, tuple[ModeFigures | None, ...]], ...]:
    """Return a name and the figures by mode, for all kinds together and then for each."""
    modes = modes_of(result)
    rows = [(ALL_KINDS, _by_mode(result.overall, modes))]
    for kind in kinds_of(result):
        own = [one for one in result.figures if one.category == kind]
        rows.append((kind_words(kind), _by_mode(own, modes)))
    return tuple(rows)


def _by_mode(figures: Sequence[ModeFigures], modes: tuple[str, ...]) -> tuple[ModeFigures | None, ...]:
    found = {one.mode: one for one in figures}
    return tuple(found.get(mode) for mode in modes)


def cell_words(one: ModeFigures | None, figure: Figure) -> str:
    """Return a cell: a number with its unit, or a dash."""
    if one is None:
        return NOTHING_YET
    if figure is Figure.SPEEDUP:
        return factor(one.speedup)
    if figure is Figure.SPEED:
        return NOTHING_YET if one.tokens_per_s is None else speed(one.tokens_per_s)
    return share(one.acceptance_rate) if figure is Figure.ACCEPTED else ratio(one.mean_accepted_length)


def cell_tip(name: str, one: ModeFigures | None) -> str:
    """Return all that is known of a kind of text in a mode."""
    if one is None:
        return f"{name}: not measured."
    lines = [f"{name}, {mode_phrase(one.mode)}"]
    if one.speedup is not None:
        lines.append(f"{factor(one.speedup)} as fast as without guessing ahead")
    if one.tokens_per_s is not None:
        lines.append(f"{speed(one.tokens_per_s)}{_spread(one)}")
    if one.acceptance_rate is not None:
        lines.append(f"{share(one.acceptance_rate)} of guesses accepted")
    if one.mean_accepted_length is not None:
        lines.append(f"{ratio(one.mean_accepted_length)} tokens per pass")
    if one.acceptance_by_position:
        lines.append("By position: " + ", ".join(share(rate) for rate in one.acceptance_by_position))
    return "\n".join(lines)


def _spread(one: ModeFigures) -> str:
    """Return between what a speed lies: answers, or for all kinds together, whose geometric mean it is, kinds."""
    answers = f"in {one.n_runs} answer{'s' * (one.n_runs != 1)}"
    if one.tokens_per_s_lowest is None or one.tokens_per_s_highest is None:
        return f", {answers}"
    between = f"from {speed(one.tokens_per_s_lowest)} to {speed(one.tokens_per_s_highest)}"
    if one.category == OVERALL:
        return f", the geometric mean of kinds that go {between}, {answers}"
    return f", {between}, {answers}"


def best_mode_of(figures: Sequence[ModeFigures | None]) -> ModeFigures | None:
    """Return the mode to take for a row of figures; None where nothing can be compared."""
    return proposed([one for one in figures if one is not None])


def headline(result: BenchResult) -> str:
    """Return "Best for you: draft length 4, +38% at temperature 0.", or what takes its place."""
    said = best_sentence(result)
    if said:
        return said
    return "Too little was measured to compare." if result.is_complete else "Nothing to compare yet."
