"""The gate of one draft: whether one more token is worth a step of the drafter and a wider pass of the target."""

from __future__ import annotations

from engine.speculation.adaptive.allowance import Allowance
from engine.speculation.adaptive.outlook import Outlook
from engine.speculation.adaptive.prospects import Terms, best_ahead, best_prefix, planned_length


class DraftGate:
    """Goes on while the best that may still come is worth more than the best that is there.

    It is asked before each token is chosen and looks at confidences and costs only. `floor` is what the round is worth
    without this draft. Where `may_cut`, the draft is a point mass that can be verified as far as it pays; a sampled
    one is verified whole, or the output would be biased, so what counts is where it stands.

    What is not known may be tried within `allowance`: widths of a pass that were hardly measured, and, where
    `is_trial`, one token of a drafter that has not been believed for long.
    """

    def __init__(
        self,
        terms: Terms,
        outlook: Outlook,
        allowance: Allowance,
        *,
        step: float,
        floor: float,
        may_cut: bool,
        is_trial: bool,
        n_max: int,
    ) -> None:
        self._terms, self._outlook, self._allowance = terms, outlook, allowance
        self._step, self._may_cut, self._is_trial = step, may_cut, is_trial
        self._best = floor
        self._gain, self._reach = 0.0, 1.0
        self.n_steps = 0
        self.chances: list[float] = []
        self.tried_loss = 0.0
        """What trying is expected to cost, in tokens; 0 where nothing was tried."""
        self._n_tried = 0
        self._is_hopeful = False
        self._n_max = n_max
        self.length_wished: int | None = None
        """After how many tokens no further step seemed worth taking; None if one still did in the end."""

    def __call__(self, i: int, confidence: float) -> bool:
        self.n_steps = i + 1
        if i >= self._n_max:
            return False
        chance = self._outlook.chance(confidence)
        self._outlook.saw(chance)
        reach = self._reach * chance
        if not self._goes_on(i, reach):
            self.length_wished = self.length_wished or i
            return False
        self._reach = reach
        self._gain += reach
        self.chances.append(chance)
        here = self._terms.verified(i + 1, self._gain)
        self._best = max(self._best, here) if self._may_cut else here
        if self.length_wished is None and not self._would_step(i + 1):
            self.length_wished = i + 1
        return True

    def n_verified(self) -> int:
        """Return how many of the tokens that were let through to verify; only a point mass may be cut."""
        terms = self._terms
        passes = terms.hopeful if self._is_hopeful else terms.passes
        n, _ = best_prefix(passes, terms.worth, self.chances)
        return max(n, self._n_tried)

    def worth_without_trial(self) -> float:
        """Return what the best part of this draft is worth to somebody who tries nothing."""
        if not self._may_cut and not self.tried_loss:
            return self._terms.verified(len(self.chances), self._gain) if self.chances else 0.0
        return best_prefix(self._terms.passes, self._terms.worth, self.chances)[1]

    def _would_step(self, n: int) -> bool:
        """Whether another step after `n` tokens is expected to pay by itself."""
        terms = self._terms
        _, ahead = planned_length(
            terms.passes,
            terms.worth,
            self._outlook.usual,
            self._step,
            terms.n_max,
            n=n,
            gain=self._gain,
            reach=self._reach,
        )
        return ahead > self._best

    def _goes_on(self, i: int, reach: float) -> bool:
        terms = self._terms
        known = (terms.worth, i, self._gain, reach, self._outlook.usual, self._step, self._n_max)
        ahead = best_ahead(terms.passes, *known)
        if ahead > self._best:
            return True
        loss = self._best - ahead
        if not self._allowance.covers(loss / terms.worth):
            return False
        if best_ahead(terms.hopeful, *known) > self._best:
            self.tried_loss = max(self.tried_loss, loss)
            self._is_hopeful = True
            return True
        if self._is_trial and i == 0:
            self.tried_loss, self._n_tried = loss, 1
            return True
        return False
