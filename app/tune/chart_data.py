"""What the chart of a bench shows, and where on its plane each point lies: numbers only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.format import factor
from app.tune.summary import ALL_KINDS, best_mode_of, mode_order, mode_words, rows_of
from engine.bench.plan import AUTO, OFF
from engine.bench.results import BenchResult

_AUTO_GAP = 1.5
"""How far auto stands from the longest draft, in tokens."""
_LEAST_TOP, _MOST_BOTTOM = 1.2, 0.9
_STEPS = (0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
_MOST_TICKS = 8


@dataclass(frozen=True, slots=True)
class ChartPoint:
    mode: str
    speedup: float


@dataclass(frozen=True, slots=True)
class ChartLine:
    """`points` from left to right; `best` is the mode to mark, "" for none."""

    name: str
    points: tuple[ChartPoint, ...]
    best: str = ""

    @property
    def is_overall(self) -> bool:
        return self.name == ALL_KINDS

    @property
    def words(self) -> str:
        """Return the line in words, for who cannot see it."""
        said = ", ".join(f"{mode_words(one.mode)} {factor(one.speedup)}" for one in self.points)
        return f"{self.name}: {said}"


@dataclass(frozen=True, slots=True)
class Scale:
    """`modes` with their place 0 to 1 from left to right, and the speed-ups that the plane reaches from and to."""

    places: tuple[tuple[str, float], ...]
    bottom: float
    top: float
    ticks: tuple[float, ...]

    def x_of(self, mode: str) -> float:
        return dict(self.places).get(mode, 0.0)

    def y_of(self, speedup: float) -> float:
        """Return how high `speedup` lies, 0 at the bottom to 1."""
        return (speedup - self.bottom) / (self.top - self.bottom)


def lines_of(result: BenchResult | None) -> tuple[ChartLine, ...]:
    """Return a line for all kinds of text together and one for each; those of no point are left out."""
    lines = []
    for name, figures in rows_of(result) if result is not None else ():
        best = best_mode_of(figures)
        points = tuple(
            ChartPoint(one.mode, one.speedup)
            for one in figures
            if one is not None and one.speedup is not None and one.speedup > 0
        )
        if len(points) > 1:
            lines.append(ChartLine(name, points, best.mode if best is not None else ""))
    return tuple(lines)


def scale_of(lines: Sequence[ChartLine]) -> Scale:
    """Return a plane that holds all of `lines`, with round numbers at its edge."""
    points = [point for line in lines for point in line.points]
    modes = sorted({point.mode for point in points} | {OFF}, key=mode_order)
    values = [point.speedup for point in points]
    top, bottom = max([_LEAST_TOP, *values]), min([_MOST_BOTTOM, *values])
    step = next((one for one in _STEPS if (top - bottom) / one <= _MOST_TICKS - 1), _STEPS[-1])
    first, last = math.floor(bottom / step + 1e-6), math.ceil(top / step - 1e-6)
    ticks = tuple(round(step * i, 4) for i in range(first, last + 1))
    return Scale(_places(modes), ticks[0], ticks[-1], ticks)


def _places(modes: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Return where modes stand: lengths by their number, off at 0, auto apart."""
    lengths = [0 if mode == OFF else int(mode) for mode in modes if mode != AUTO]
    last = max(lengths, default=0)
    at = {mode: float(0 if mode == OFF else int(mode)) for mode in modes if mode != AUTO}
    if AUTO in modes:
        at[AUTO] = last + _AUTO_GAP
    whole = max(at.values(), default=0.0) or 1.0
    return tuple((mode, x / whole) for mode, x in at.items())


def spread_apart(wanted: Sequence[float], least: float, low: float, high: float) -> tuple[float, ...]:
    """Return places near `wanted`, at least `least` from each other, within `low` to `high` as far as there is room."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = [0.0] * len(wanted)
    edge = low - least
    for i in order:
        edge = placed[i] = max(wanted[i], edge + least)
    edge = high + least
    for i in reversed(order):
        edge = placed[i] = min(placed[i], edge - least)
    return tuple(placed)
