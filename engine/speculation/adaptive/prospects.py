"""What a draft is expected to be worth: pure arithmetic in tokens and single passes.

A round that costs c single passes and yields t tokens is judged by t - worth * c, where `worth` is the tokens that a
single pass's time yields at present, at least 1: the rule that maximises tokens per second over many rounds (the
parametric method for fractional objectives; Dinkelbach 1967). A round without a draft yields 1 token for 1 pass, so a
draft is worth its expected accepted tokens less `worth` times what it costs beyond a single pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.speculation.adaptive.pass_costs import MAX_WIDTH


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one round: `passes` and `hopeful` as in CostTable, `single_s` a single pass."""

    single_s: float
    passes: Sequence[float]
    hopeful: Sequence[float]
    worth: float
    n_max: int

    def verified(self, n_tokens: int, gain: float) -> float:
        """Return what verifying `n_tokens` is worth, of which `gain` are expected to be accepted."""
        return gain - self.worth * (self.passes[1 + n_tokens] - 1.0)


def best_prefix(passes: Sequence[float], worth: float, chances: Sequence[float]) -> tuple[int, float]:
    """Return how many of the drafted tokens to verify, and what that is worth: (0, 0.0) for none.

    `chances[i]` is the chance that token i is accepted if all before it are.
    """
    best, best_value = 0, 0.0
    gain, reach = 0.0, 1.0
    for i, chance in enumerate(chances[: MAX_WIDTH - 1]):
        reach *= chance
        gain += reach
        value = gain - worth * (passes[2 + i] - 1.0)
        if value > best_value:
            best, best_value = i + 1, value
    return best, best_value


def best_ahead(
    passes: Sequence[float],
    worth: float,
    i: int,
    gain: float,
    reach: float,
    usual: float,
    step: float,
    n_max: int,
) -> float:
    """Return the most that going on with token `i` may be worth, however far it then goes, `n_max` tokens at most.

    `gain` accepted tokens are expected before it, `reach` is the chance that it and all before it are accepted,
    `usual` that of each later one. After each token but the last possible one the drafter takes another step, even if
    the draft then ends: `step` single passes.
    """
    best, spent = -1e9, -1.0
    for n in range(i + 1, n_max + 1):
        gain += reach
        spent += step if n < n_max else 0.0
        value = gain - worth * (passes[n + 1] + spent)
        if value > best:
            best = value
        elif reach < 0.02:
            break
        reach *= usual
    return best


def planned_length(
    passes: Sequence[float],
    worth: float,
    usual: float,
    step: float,
    n_max: int,
    *,
    n: int = 0,
    gain: float = 0.0,
    reach: float = 1.0,
) -> tuple[int, float]:
    """Return the draft length that is worth most if each token after the `n` that are there is accepted with `usual`,
    and what it is worth after the steps for them: at least n + 1 tokens, however little that is worth.

    `gain` of those that are there are expected to be accepted, all of them with the chance `reach`.
    """
    best, best_value = n + 1, -1e9
    spent = -1.0
    for length in range(n + 1, n_max + 1):
        reach *= usual
        gain += reach
        spent += step
        value = gain - worth * (passes[length + 1] + spent)
        if value > best_value:
            best, best_value = length, value
        elif reach < 0.02:
            break
    return best, best_value
