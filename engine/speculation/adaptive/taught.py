"""Learning from answers whose draft length a person chose, or that are decoded without drafts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.speculation.adaptive.calibration import UNTOLD
from engine.speculation.adaptive.controller import FREE_SOURCES
from engine.speculation.adaptive.learned import Learned
from engine.speculation.protocols import Draft, Drafter, DraftPolicy, DraftRequest, RoundCost
from engine.speculation.round import DraftSource


@dataclass(slots=True)
class Taught:
    """A DraftPolicy that does what `policy` does, and lets `learned` know what came of it."""

    policy: DraftPolicy
    learned: Learned
    temperature: float = 0.0
    _last: DraftSource = DraftSource.NONE

    def draft(self, drafters: Sequence[Drafter], request: DraftRequest) -> Draft:
        return self.policy.draft(drafters, request)

    def learn(self, cost: RoundCost) -> None:
        self.policy.learn(cost)
        learned, draft = self.learned, cost.draft
        learned.costs.add_pass(cost.n_pass, cost.n_cached, cost.pass_s)
        learned.n_rounds += 1
        if draft.tokens:
            # After a round without it a drafter has tokens to catch up with, which is no part of its usual cost.
            if draft.source not in FREE_SOURCES and draft.source is self._last:
                learned.costs.add_draft(draft.source, cost.n_cached, len(draft.tokens), 0, cost.draft_s)
            knowledge = learned.source(draft.source, self.temperature)
            for i in range(min(cost.accepted + 1, len(draft.tokens))):
                confidence = draft.confidences[i] if i < len(draft.confidences) else UNTOLD
                knowledge.saw(knowledge.calibration.chance(confidence))
                knowledge.calibration.learn(confidence, i < cost.accepted)
        self._last = draft.source
