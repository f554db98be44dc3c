"""What it costs to ask a drafter: so much for each draft, and so much for each step."""

from __future__ import annotations

from typing import Final

_FADE: Final = 0.97
_PRIOR_WEIGHT: Final = 0.5
_OUTLIER: Final = 2.5
_N_TRUSTED: Final = 4
_MISSED_RATE: Final = 0.3
_MISSED_SHARE: Final = 0.3
"""Before it is measured, catching up with a token is taken to cost this share of a step."""
_MISSED_MANY: Final = 4


class DraftCosts:
    """Times of one drafter's drafts, as a line over steps: least squares that forget, with outliers cut.

    A step is a pass of the drafter. One that drafts a block in one pass takes no more for a longer draft; what it takes
    counts as fixed. `is_block` is only what is believed before lengths have differed.
    """

    def __init__(
        self, is_block: bool, fixed_s: float = 0.0, step_s: float = 0.0, missed_s: float = 0.0
    ) -> None:
        self.is_block = is_block
        self.fixed_s, self.step_s, self.missed_s = fixed_s, step_s, missed_s
        self.n = 0
        self._weight = self._steps = self._steps2 = self._time = self._time_steps = 0.0

    @classmethod
    def remembered(cls, is_block: bool, fixed_s: float, step_s: float, missed_s: float, n: int) -> DraftCosts:
        """Begin with what was learned before, as if it had been measured at two lengths."""
        costs = cls(is_block, fixed_s, step_s, missed_s)
        if n:
            for steps in (1, 2, 4, 6):
                costs._count(steps, fixed_s + steps * step_s)
            costs.n = n
        return costs

    def seconds(self, n_steps: int, n_missed: int = 0) -> float:
        """Return what a draft of `n_steps` steps takes after `n_missed` tokens that the drafter has not seen."""
        return self.fixed_s + n_steps * self.step_s + n_missed * self.missed_s

    def add(self, n_steps: int, n_missed: int, seconds: float) -> None:
        """Learn from one draft."""
        if self.n >= _N_TRUSTED:
            expected = self.seconds(n_steps, n_missed)
            seconds = min(max(seconds, expected / _OUTLIER), expected * _OUTLIER)
        if not self.n:
            n_passes = 1 if self.is_block else max(n_steps, 1)
            self.missed_s = _MISSED_SHARE * seconds / (n_passes + _MISSED_SHARE * n_missed)
        elif n_missed >= _MISSED_MANY:
            self._learn_missed(n_steps, n_missed, seconds)
        self._count(n_steps, max(0.0, seconds - n_missed * self.missed_s))
        self.n += 1
        self._fit()

    def _learn_missed(self, n_steps: int, n_missed: int, seconds: float) -> None:
        measured = max(0.0, seconds - self.seconds(n_steps)) / n_missed
        self.missed_s += _MISSED_RATE * (measured - self.missed_s)

    def _count(self, n_steps: int, seconds: float) -> None:
        self._weight = _FADE * self._weight + 1.0
        self._steps = _FADE * self._steps + n_steps
        self._steps2 = _FADE * self._steps2 + n_steps * n_steps
        self._time = _FADE * self._time + seconds
        self._time_steps = _FADE * self._time_steps + seconds * n_steps

    def _fit(self) -> None:
        # The prior is one more point, in the origin for a drafter that steps, level with the mean for a block.
        mean_s = self._time / self._weight
        weight = self._weight + _PRIOR_WEIGHT
        time_s = self._time + (_PRIOR_WEIGHT * mean_s if self.is_block else 0.0)
        spread = weight * self._steps2 - self._steps * self._steps
        slope = (weight * self._time_steps - self._steps * time_s) / spread if spread > 1e-9 else 0.0
        slope = min(max(slope, 0.0), self._time / self._steps if self._steps else 0.0)
        self.step_s = slope
        self.fixed_s = max(0.0, (self._time - slope * self._steps) / self._weight)
