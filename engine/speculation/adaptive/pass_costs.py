"""What a target pass over n tokens costs, in single passes: learned per context length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engine.speculation.adaptive.samples import Samples
from engine.speculation.settings import MAX_DRAFT_LENGTH

MAX_WIDTH: Final = MAX_DRAFT_LENGTH + 1
N_ENOUGH: Final = 3
"""A width that was measured so often is known; before that its cost is partly a guess."""

_PRIOR_SLOPE: Final = 0.06
_PRIOR_WEIGHT: Final = 0.5
_HOPEFUL_SLOPE: Final = 0.02
_TELLING_CHANGE: Final = 0.02
_SLOPE_SHARE: Final = 0.6

PRIOR: Final = tuple(1.0 + _PRIOR_SLOPE * max(0, width - 1) for width in range(MAX_WIDTH + 1))


@dataclass(frozen=True, slots=True)
class CostTable:
    """`passes[n]` is the cost of a pass over n tokens in single passes (n = 1 to 17; [0] means nothing), `single_s`
    what one of those takes. `hopeful[n]` is the least that it may turn out to be: lower where n was hardly measured.
    """

    single_s: float
    passes: Sequence[float]
    hopeful: Sequence[float]


class PassCosts:
    """Times of passes in one range of context lengths.

    Cost never falls with width: what measurements say otherwise is noise and is averaged away. A width that was not
    seen lies between its neighbours; beyond the widest one it goes on somewhat less steeply than so far, since another
    kernel may begin anywhere.
    """

    def __init__(self) -> None:
        self.widths: dict[int, Samples] = {}
        self._table: CostTable | None = None
        self._told: dict[int, float] = {}

    def add(self, width: int, seconds: float) -> None:
        samples = self.widths.get(width)
        if samples is None:
            samples = self.widths[width] = Samples()
        samples.add(seconds)
        told = self._told.get(width, 0.0)
        if samples.n <= N_ENOUGH or abs(samples.usual - told) > _TELLING_CHANGE * told:
            self._told[width] = samples.usual
            self._table = None

    def known_s(self, width: int, n_enough: int = N_ENOUGH) -> float | None:
        """Return what a pass over `width` tokens takes, if that was measured `n_enough` times."""
        samples = self.widths.get(width)
        return samples.usual if samples is not None and samples.n >= n_enough else None

    def is_single_dear(self) -> bool:
        """Whether a wider pass was measured to take no longer than a single one: either was disturbed, or both."""
        single_s = self.known_s(1)
        if single_s is None:
            return False
        return any(samples.usual <= single_s for width, samples in self.widths.items() if width > 1)

    def table(self) -> CostTable | None:
        """Return the costs, None before the first measurement."""
        if self._table is None and self.widths:
            self._table = self._make_table()
        return self._table

    def _make_table(self) -> CostTable:
        seen = sorted(self.widths)
        single_s = self._single_s(seen)
        levels = _never_falling([(self._level(width, single_s), self.widths[width].n) for width in seen])
        first = levels[0] if seen[0] == 1 else 1.0
        known = {width: max(1.0, level / first) for width, level in zip(seen, levels, strict=True)}
        known.setdefault(1, 1.0)
        passes = _between(known)
        sure = {
            width: cost for width, cost in known.items() if width == 1 or self.widths[width].n >= N_ENOUGH
        }
        hopeful = [min(cost, hope) for cost, hope in zip(passes, _at_least(sure), strict=True)]
        return CostTable(single_s * first, passes, hopeful)

    def _single_s(self, seen: Sequence[int]) -> float:
        narrowest = seen[0]
        return self.widths[narrowest].usual / PRIOR[narrowest]

    def _level(self, width: int, single_s: float) -> float:
        samples = self.widths[width]
        # More than a single pass for each token it cannot cost: what says so was disturbed.
        measured = min(samples.usual / single_s, float(width))
        if width == 1 or samples.n >= N_ENOUGH:
            return measured
        return (samples.n * measured + _PRIOR_WEIGHT * PRIOR[width]) / (samples.n + _PRIOR_WEIGHT)


def _never_falling(levels: Sequence[tuple[float, int]]) -> list[float]:
    """Return the closest sequence that never falls, by weight (pool adjacent violators; Barlow 1972)."""
    pools: list[tuple[float, float, int]] = []
    for level, weight in levels:
        pool = (level, float(weight), 1)
        while pools and pools[-1][0] > pool[0]:
            other = pools.pop()
            total = other[1] + pool[1]
            pool = ((other[0] * other[1] + pool[0] * pool[1]) / total, total, other[2] + pool[2])
        pools.append(pool)
    return [level for level, _, count in pools for _ in range(count)]


def _between(known: dict[int, float]) -> list[float]:
    """Return the costs of all widths from those that are known; width 1 must be."""
    costs, seen = [0.0] * (MAX_WIDTH + 1), sorted(known)
    for left, right in zip(seen, [*seen[1:], MAX_WIDTH + 1], strict=True):
        low = known[left]
        if right <= MAX_WIDTH:
            slope = (known[right] - low) / (right - left)
            steps = [slope] * (right - left)
        else:
            # With one width known there is only the prior; with more, what they rose by counts.
            rise = _SLOPE_SHARE * (low - 1.0) / (left - 1) if left > 1 else 0.0
            steps = [max(_PRIOR_SLOPE, rise) for width in range(left, MAX_WIDTH)]
        for offset in range(right - left):
            costs[left + offset] = low + sum(steps[:offset])
    return costs


def _at_least(sure: dict[int, float]) -> list[float]:
    """Return costs that rise by next to nothing beyond each width that is sure."""
    costs, last = [0.0], 1.0
    for width in range(1, MAX_WIDTH + 1):
        last = sure.get(width, last + _HOPEFUL_SLOPE)
        costs.append(last)
    return costs
