"""Why nothing is drafted, in figures."""

from __future__ import annotations

from collections.abc import Sequence

from engine.speculation.adaptive.prospects import Terms
from engine.speculation.round import DraftSource, Skip


def skip_of(
    source: DraftSource, terms: Terms, chances: Sequence[float], draft_cost: tuple[float, float]
) -> Skip:
    """Return the figures of the best draft that there was, by the terms that decided.

    Token i of it is accepted with `chances[i]` if those before it are. `draft_cost` is fixed cost and cost of a step of
    the drafter, in single passes.
    """
    fixed, step = draft_cost
    worth = terms.worth
    best, best_value, best_gain = 1, -1e9, 0.0
    gain, reach = 0.0, 1.0
    for i, chance in enumerate(chances[: terms.n_max]):
        n = i + 1
        reach *= chance
        gain += reach
        value = gain - worth * (terms.passes[1 + n] - 1.0 + fixed + n * step)
        if value > best_value:
            best, best_value, best_gain = n, value, gain
    pass_cost, drafting = terms.passes[1 + best], fixed + best * step
    needed = worth * (pass_cost + drafting - 1.0) / best
    return Skip(source, best, pass_cost, drafting, needed, best_gain / best, worth)
