"""Finding the largest setting that fits with few measurements."""

from __future__ import annotations

from collections.abc import Callable

from engine.budget.budget import CTX_STEP


def largest_context(spare: Callable[[int], int], limit: int) -> int:
    """Return the largest multiple of CTX_STEP with spare(n_ctx) >= 0, `limit` where that is none, but fits; 0: none."""

    def n_ctx(steps: int) -> int:
        return min(steps * CTX_STEP, limit)

    return n_ctx(largest_that_fits(lambda steps: spare(n_ctx(steps)), 1, -(-limit // CTX_STEP)))


def largest_that_fits(spare: Callable[[int], int], low: int, high: int) -> int:
    """Return the largest n from `low` to `high` with spare(n) >= 0, low - 1 if there is none.

    `spare` falls as n grows. Memory is nearly a straight line in what is asked for: two guesses along the line
    between what is known end it then. Every third guess halves what is left, in case it is not.
    """
    at_high = spare(high)
    if at_high >= 0:
        return high
    at_low = spare(low) if low < high else at_high
    if at_low < 0:
        return low - 1
    n_guesses = 0
    while high - low > 1:
        guess = (low + high) // 2
        if n_guesses % 3 != 2:
            guess = low + (high - low) * at_low // (at_low - at_high)
        guess = min(max(guess, low + 1), high - 1)
        n_guesses += 1
        at_guess = spare(guess)
        if at_guess >= 0:
            low, at_low = guess, at_guess
        else:
            high, at_high = guess, at_guess
    return low
