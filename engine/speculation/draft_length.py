"""How far to draft before a round."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import BadOption
from engine.speculation.settings import MAX_DRAFT_LENGTH


@dataclass(frozen=True, slots=True)
class FixedLength:
    """The same draft length, 0 to 16 tokens, before every round. Raises BadOption outside of that.

    The adaptive controller goes beside it, as another DraftLength: it learns from what each round cost and
    gave, and it may look at nothing else, so that sampling stays lossless.
    """

    n_tokens: int

    def __post_init__(self) -> None:
        if not 0 <= self.n_tokens <= MAX_DRAFT_LENGTH:
            raise BadOption(f"The draft length must be between 0 and {MAX_DRAFT_LENGTH} tokens.")

    def next_length(self) -> int:
        return self.n_tokens

    def learn(self, drafted: int, accepted: int, draft_s: float, verify_s: float) -> None:
        """A fixed length has nothing to learn."""
