"""How often a drafted token of a given confidence is accepted: learned per drafter, forgetting slowly."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

KNOTS: Final = (0.0, 0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.88, 0.94, 0.98, 1.0)
UNTOLD: Final = 0.7
"""What stands in for the confidence of a drafter that tells none."""

_PRIOR_WEIGHT: Final = 2.0
_FADE: Final = 0.998
_LEAST: Final = 0.005


def logit(chance: float) -> float:
    chance = min(max(chance, _LEAST), 1.0 - _LEAST)
    return math.log(chance / (1.0 - chance))


def shifted(chance: float, by: float) -> float:
    """Return `chance` after a shift of its log odds."""
    return 1.0 / (1.0 + math.exp(-logit(chance) - by))


class Calibration:
    """A curve from confidence to chance of acceptance, straight between knots that lie closer towards 1.

    Each knot begins with the confidence itself, as if two tokens had shown it. The curve never falls.
    """

    def __init__(self, accepted: Sequence[float] = (), judged: Sequence[float] = ()) -> None:
        n = len(KNOTS)
        self.accepted = list(accepted) if len(accepted) == len(judged) == n else [0.0] * n
        self.judged = list(judged) if len(accepted) == len(judged) == n else [0.0] * n
        self._curve: list[float] = []

    def chance(self, confidence: float) -> float:
        """Return the chance that a token of `confidence` is accepted."""
        curve = self._curve or self._draw()
        left, share = _place(confidence)
        return curve[left] + share * (curve[left + 1] - curve[left])

    def learn(self, confidence: float, is_accepted: bool) -> None:
        """Take in how one token was judged."""
        left, share = _place(confidence)
        for knot, weight in ((left, 1.0 - share), (left + 1, share)):
            fade = 1.0 - weight * (1.0 - _FADE)
            self.judged[knot] = fade * self.judged[knot] + weight
            self.accepted[knot] = fade * self.accepted[knot] + weight * is_accepted
        self._curve = []

    def _draw(self) -> list[float]:
        curve: list[float] = []
        weights: list[float] = []
        for knot, accepted, judged in zip(KNOTS, self.accepted, self.judged, strict=True):
            weight = judged + _PRIOR_WEIGHT
            level, count = (accepted + _PRIOR_WEIGHT * knot) / weight, 1
            while curve and curve[-1] > level:
                # What falls is noise: the knots in question share their mean.
                other, other_weight = curve[-1], weights[-1]
                same = sum(1 for value in curve if value == other)
                del curve[-same:], weights[-same:]
                level = (other * other_weight + level * weight) / (other_weight + weight)
                weight += other_weight
                count += same
            curve += [level] * count
            weights += [weight] * count
        self._curve = curve
        return curve


def _place(confidence: float) -> tuple[int, float]:
    """Return the knot to the left of `confidence` and how far it is on the way to the next."""
    if not 0.0 < confidence < 1.0:
        return (len(KNOTS) - 2, 1.0) if confidence >= 1.0 else (0, 0.0)
    left = bisect_right(KNOTS, confidence) - 1
    return left, (confidence - KNOTS[left]) / (KNOTS[left + 1] - KNOTS[left])
