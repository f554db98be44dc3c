"""What became of an n-gram drafter's proposals: the chance that the next one is right."""

from __future__ import annotations

import math
from bisect import bisect_right
from enum import IntEnum
from typing import Final

_LENGTHS: Final = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24)
"""Match lengths are counted in classes that begin at these."""

# How fast the record follows: the step of its logistic regression for what all classes share, and for one class.
_SHARED_STEP: Final = 0.15
_CLASS_STEP: Final = 0.25
_LIMIT: Final = 5.0


class Support(IntEnum):
    """How far the places that match agree on what comes next."""

    ALONE = 0
    """There is one place."""
    AGREED = 1
    """There are several, and all say this."""
    MOSTLY = 2
    """More than half of them say this."""
    HARDLY = 3


# Log-odds that a proposal is right, by support (rows) and length class, before anything is known of the text.
# Counted over answers of SmolLM2-135M and Qwen2.5-0.5B to the prompts of benchmarks/prompts.json.
_FIRST_GUESS: Final = (
    (-1.0, -0.2, 0.4, 0.9, 1.1, 1.5, 1.8, 2.2, 2.6, 3.2),
    (-0.4, 0.4, 1.0, 1.6, 1.8, 2.2, 2.5, 2.8, 3.2, 4.0),
    (-0.4, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6),
    (-1.2, -0.8, -0.6, -0.4, -0.3, -0.2, 0.0, 0.2, 0.4, 0.6),
)


class NgramRecord:
    """An online logistic regression: one weight for each class of match length and support, one that all share.

    The shared weight follows the text (an edit repeats what a story does not) within a few proposals; the classes
    follow what is peculiar to each. Both forget by being moved.
    """

    def __init__(self) -> None:
        self._weights = [list(row) for row in _FIRST_GUESS]
        self._shared = 0.0

    def chance(self, n_matched: int, support: Support) -> float:
        """Return the probability that a proposal with `n_matched` matching tokens before it is right."""
        return _logistic(self._weights[support][_length_class(n_matched)] + self._shared)

    def learn(self, n_matched: int, support: Support, *, was_right: bool) -> None:
        """Take in what became of a proposal."""
        weights, at = self._weights[support], _length_class(n_matched)
        error = was_right - _logistic(weights[at] + self._shared)
        weights[at] = _limited(weights[at] + _CLASS_STEP * error)
        self._shared = _limited(self._shared + _SHARED_STEP * error)


def _length_class(n_matched: int) -> int:
    return max(bisect_right(_LENGTHS, n_matched) - 1, 0)


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def _limited(x: float) -> float:
    return max(-_LIMIT, min(_LIMIT, x))
