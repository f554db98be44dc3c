"""How far to draft before a round, where a person chose it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import BadOption
from engine.speculation.protocols import Draft, Drafter, DraftRequest, RoundCost
from engine.speculation.settings import MAX_DRAFT_LENGTH


@dataclass(frozen=True, slots=True)
class FixedLength:
    """A DraftPolicy: the same draft length, 0 to 16 tokens, before every round; the first drafter that proposes
    anything is taken.

    A draft ends before the first token whose confidence is below `min_confidence` (llama.cpp's p_min). Raises
    BadOption for a length outside of 0 to 16.
    """

    n_tokens: int
    min_confidence: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.n_tokens <= MAX_DRAFT_LENGTH:
            raise BadOption(f"The draft length must be between 0 and {MAX_DRAFT_LENGTH} tokens.")

    def draft(self, drafters: Sequence[Drafter], request: DraftRequest) -> Draft:
        n_max = min(self.n_tokens, request.n_max)
        if n_max == 0:
            return Draft()
        for drafter in drafters:
            draft = drafter.draft(request.history, n_max, request.sampler, request.rng, self._admits)
            if draft.tokens:
                return draft
        return Draft()

    def learn(self, cost: RoundCost) -> None:
        """A fixed length has nothing to learn."""

    def _admits(self, i: int, confidence: float) -> bool:
        return confidence >= self.min_confidence
