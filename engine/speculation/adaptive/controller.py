"""The adaptive controller: before each round it decides whether to draft, with which drafter and how far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from engine.speculation.adaptive.allowance import Allowance
from engine.speculation.adaptive.calibration import UNTOLD
from engine.speculation.adaptive.costs import BLOCK_SOURCES
from engine.speculation.adaptive.draft_costs import DraftCosts
from engine.speculation.adaptive.gate import DraftGate
from engine.speculation.adaptive.learned import Learned
from engine.speculation.adaptive.outlook import Outlook
from engine.speculation.adaptive.prospects import Terms, best_prefix, planned_length
from engine.speculation.adaptive.reasons import skip_of
from engine.speculation.protocols import Draft, Drafter, DraftRequest, RoundCost
from engine.speculation.round import DraftSource, Skip
from engine.speculation.settings import MAX_DRAFT_LENGTH

FREE_SOURCES: Final = frozenset({DraftSource.NGRAM})
"""Asking these costs next to nothing, so their draft is known before it is decided whom to ask."""

_UNKNOWN_STEP: Final = 0.1
_ROUNDS_PER_CATCH_UP: Final = 16
_PATIENCE: Final = 0.1
_EASY: Final = 0.95
_N_EASY: Final = 30
_WORTH_FADE: Final = 0.97
_WORTH_PRIOR: Final = 5.0
_FIRST_LENGTH: Final = 2
"""Before anything is known of a drafter, a mistake is to be small; what pays soon grows."""
_SHORTEST_BLOCK: Final = 4
_SKIP_AFRESH_EVERY: Final = 16


@dataclass(slots=True)
class _Turn:
    """What one round did: whom it asked at a cost, in how many steps, and what it found."""

    asked: DraftSource | None = None
    n_steps: int = 0
    skip: Skip | None = None


@dataclass(frozen=True, slots=True)
class _Offer:
    """A draft that is there, and what verifying it is worth."""

    draft: Draft
    worth: float


_NO_OFFER: Final = _Offer(Draft(), 0.0)


class AdaptiveController:
    """A DraftPolicy for one answer, over what is `learned` about the bundle.

    It decides from history, costs and confidences alone: lossless. Where drafting does not pay it drafts nothing, says
    why (`Draft.skip`), and tries again now and then, within 1 % of the time.
    """

    def __init__(self, learned: Learned, temperature: float = 0.0) -> None:
        self._learned = learned
        self._temperature = temperature
        self._outlooks: dict[DraftSource, Outlook] = {}
        self._allowance = Allowance()
        self._tokens = self._passes = _WORTH_PRIOR
        self._turn = _Turn()
        self._last_skip: tuple[int, Skip] | None = None
        self._n_rounds = 0
        self._has_drafted = False

    def draft(self, drafters: Sequence[Drafter], request: DraftRequest) -> Draft:
        self._turn = _Turn()
        terms = self._terms(request)
        if terms is None or (self._has_drafted and self._learned.costs.lacks_single(len(request.history))):
            self._has_drafted = False
            return Draft()
        self._has_drafted = True
        offer = _NO_OFFER
        for drafter in drafters:
            if (
                drafter.source in FREE_SOURCES
                and (found := self._look(drafter, request, terms)).worth > offer.worth
            ):
                offer = found
        for drafter in drafters:
            if drafter.source not in FREE_SOURCES:
                offer = self._consider(drafter, request, terms, offer)
        if offer.draft.tokens:
            return offer.draft
        return Draft(skip=self._turn.skip)

    def learn(self, cost: RoundCost) -> None:
        costs, turn, draft = self._learned.costs, self._turn, cost.draft
        costs.add_pass(cost.n_pass, cost.n_cached, cost.pass_s)
        if turn.asked is not None:
            outlook = self._outlook(turn.asked)
            costs.add_draft(turn.asked, cost.n_cached, turn.n_steps, outlook.n_missed, cost.draft_s)
            outlook.n_missed = 0
        n_tokens = 1 + cost.accepted
        for source, outlook in self._outlooks.items():
            if source is not turn.asked:
                outlook.n_missed += n_tokens
            if draft.tokens and source is draft.source:
                outlook.judged(draft, cost.accepted)
            else:
                outlook.passed_over(was_asked=source is turn.asked, certainty=cost.certainty)
        table = costs.table(cost.n_cached)
        if table is not None:
            passes = (cost.draft_s + cost.pass_s) / (costs.pace * table.single_s)
            self._tokens = _WORTH_FADE * self._tokens + n_tokens
            self._passes = _WORTH_FADE * self._passes + passes
            self._allowance.earn(passes, n_tokens)
        self._n_rounds += 1
        self._learned.n_rounds += 1
        # Where nothing fits any more the loop does not ask, and what was asked for this round is no news then.
        self._turn = _Turn()

    def _terms(self, request: DraftRequest) -> Terms | None:
        table = self._learned.costs.table(len(request.history))
        if table is None:
            return None
        worth = max(1.0, self._tokens / self._passes)
        return Terms(table.single_s, table.passes, table.hopeful, worth, min(request.n_max, MAX_DRAFT_LENGTH))

    def _outlook(self, source: DraftSource) -> Outlook:
        found = self._outlooks.get(source)
        if found is None:
            found = self._outlooks[source] = Outlook(self._learned.source(source, self._temperature))
        return found

    # ------------------------------------------------------------------------------------ drafts that cost nothing

    def _look(self, drafter: Drafter, request: DraftRequest, terms: Terms) -> _Offer:
        """Return the part of a free draft that pays; a trial of one token now and then where none does."""
        draft = drafter.draft(request.history, terms.n_max, request.sampler, request.rng, _freely)
        if not draft.tokens:
            return _NO_OFFER
        outlook = self._outlook(drafter.source)
        told = draft.confidences or (UNTOLD,) * len(draft.tokens)
        chances = [outlook.chance(confidence) for confidence in told]
        outlook.saw(chances[0])
        n, worth = best_prefix(terms.passes, terms.worth, chances)
        if n == 0:
            n, loss = self._try_free(outlook, terms, chances)
            if n == 0:
                self._turn.skip = self._skip(drafter.source, terms, chances, (0.0, 0.0))
                return _NO_OFFER
            self._allowance.spend(loss)
            worth = 1e-9
        return _Offer(_cut(draft, n), worth)

    def _try_free(self, outlook: Outlook, terms: Terms, chances: Sequence[float]) -> tuple[int, float]:
        hopeful, _ = best_prefix(terms.hopeful, terms.worth, chances)
        n = hopeful or (1 if outlook.is_judgement_due else 0)
        if n == 0:
            return 0, 0.0
        gain, reach = 0.0, 1.0
        for chance in chances[:n]:
            reach *= chance
            gain += reach
        loss = -terms.verified(n, gain) / terms.worth
        return (n, loss) if self._allowance.covers(loss) else (0, 0.0)

    # ------------------------------------------------------------------------------------------ drafts that cost

    def _consider(self, drafter: Drafter, request: DraftRequest, terms: Terms, offer: _Offer) -> _Offer:
        """Ask `drafter` if that is expected to pay more than `offer`, or if it is time to try."""
        if self._turn.asked is not None:
            return offer
        source = drafter.source
        outlook = self._outlook(source)
        fixed, step, missed = self._draft_cost(source, request, terms)
        # Having caught up, it can be asked for many rounds.
        catch_up = terms.worth * missed * outlook.n_missed / _ROUNDS_PER_CATCH_UP
        gain = outlook.knowledge.gain
        if gain is None:
            _, gain = planned_length(terms.passes, terms.worth, outlook.usual, step, terms.n_max)
            gain -= terms.worth * fixed
        # What is lost by asking once too often is small; giving a drafter up for noise is not.
        patience = 0.0 if outlook.is_given_up else _PATIENCE * terms.worth * (fixed + step)
        is_trial = gain + patience - catch_up <= offer.worth
        if is_trial:
            cost = fixed + step + missed * outlook.n_missed
            may_try = outlook.is_due and self._allowance.covers(cost)
            if not may_try and outlook.has_text_changed:
                # It is worth the catching up only if a text that is easy to foresee would make that good.
                _, hope = planned_length(terms.passes, terms.worth, _EASY, step, terms.n_max)
                may_try = hope * _N_EASY > terms.worth * cost
            if offer.draft.tokens or not may_try:
                if not offer.draft.tokens:
                    self._turn.skip = self._skip(source, terms, _steady(outlook), (fixed, step))
                return offer
            self._allowance.spend(cost)
        return self._ask(drafter, request, terms, offer, is_trial=is_trial)

    def _ask(
        self, drafter: Drafter, request: DraftRequest, terms: Terms, offer: _Offer, *, is_trial: bool
    ) -> _Offer:
        source = drafter.source
        outlook = self._outlook(source)
        fixed, step, _ = self._draft_cost(source, request, terms)
        is_block = source in BLOCK_SOURCES
        if not outlook.length:
            n, _ = planned_length(terms.passes, terms.worth, outlook.usual, step, terms.n_max)
            is_known = self._learned.costs.drafts(len(request.history), source) is not None
            outlook.length = float(n if is_known else min(n, _FIRST_LENGTH))
        outlook.length = min(outlook.length, float(MAX_DRAFT_LENGTH))
        n_max = min(round(outlook.length), terms.n_max)
        if is_block:
            n_max = min(max(_SHORTEST_BLOCK, 2 * n_max), terms.n_max)
        gate = DraftGate(
            terms,
            outlook,
            self._allowance,
            step=0.0 if is_block else step,
            floor=offer.worth,
            may_cut=request.sampler.is_greedy,
            is_trial=outlook.is_judgement_due,
            n_max=n_max,
        )
        draft = drafter.draft(request.history, n_max, request.sampler, request.rng, gate)
        if gate.n_steps == 0 and not draft.tokens:
            return offer
        self._turn.asked, self._turn.n_steps = (
            source,
            n_max if is_block else max(gate.n_steps, len(draft.tokens)),
        )
        worth = gate.worth_without_trial()
        steps = 0 if is_block else self._turn.n_steps
        n = min(gate.n_verified(), len(draft.tokens)) if draft.distributions is None else len(draft.tokens)
        outlook.asked(
            worth - terms.worth * (fixed + steps * step), n_max, gate.length_wished, is_trial=is_trial
        )
        self._allowance.spend(gate.tried_loss / terms.worth)
        is_sampled = draft.distributions is not None
        if n == 0 or (not is_sampled and offer.draft.tokens and worth <= offer.worth):
            if not offer.draft.tokens:
                self._turn.skip = self._skip(source, terms, _steady(outlook), (fixed, step))
            return offer
        return _Offer(_cut(draft, n), worth)

    def _draft_cost(
        self, source: DraftSource, request: DraftRequest, terms: Terms
    ) -> tuple[float, float, float]:
        """Return fixed cost, cost of a step and cost of a missed token, in single passes."""
        costs: DraftCosts | None = self._learned.costs.drafts(len(request.history), source)
        if costs is None:
            return 0.0, _UNKNOWN_STEP, 0.0
        return costs.fixed_s / terms.single_s, costs.step_s / terms.single_s, costs.missed_s / terms.single_s

    def _skip(
        self, source: DraftSource, terms: Terms, chances: Sequence[float], draft_cost: tuple[float, float]
    ) -> Skip:
        """Return the figures; those of the last rounds do while nothing changes."""
        last = self._last_skip
        if last is None or last[1].source is not source or self._n_rounds - last[0] >= _SKIP_AFRESH_EVERY:
            last = self._last_skip = (self._n_rounds, skip_of(source, terms, chances, draft_cost))
        return last[1]


def _freely(i: int, confidence: float) -> bool:
    return True


def _steady(outlook: Outlook) -> tuple[float, ...]:
    return (outlook.usual,) * MAX_DRAFT_LENGTH


def _cut(draft: Draft, n_tokens: int) -> Draft:
    if n_tokens >= len(draft.tokens):
        return draft
    return replace(draft, tokens=draft.tokens[:n_tokens], confidences=draft.confidences[:n_tokens])
