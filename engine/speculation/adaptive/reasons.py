"""Why nothing is drafted, in figures."""

from __future__ import annotations

from engine.speculation.adaptive.prospects import Terms
from engine.speculation.round import DraftSource, Skip


def skip_of(source: DraftSource, terms: Terms, chance: float, draft_cost: tuple[float, float]) -> Skip:
    """Return the figures of the best draft that there was, each token of which is accepted with `chance` if those
    before it are. `draft_cost` is fixed cost and cost of a step of the drafter, in single passes.
    """
    fixed, step = draft_cost
    best = (-1e9, 1, 0.0)
    gain, reach = 0.0, 1.0
    for n in range(1, terms.n_max + 1):
        reach *= chance
        gain += reach
        value = gain - (terms.passes[1 + n] - 1.0 + fixed + n * step)
        if value > best[0]:
            best = (value, n, gain)
    _, n, gain = best
    pass_cost, drafting = terms.passes[1 + n], fixed + n * step
    return Skip(source, n, pass_cost, drafting, (pass_cost + drafting - 1.0) / n, gain / n)
