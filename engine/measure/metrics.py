"""Figures of one answer: a pure fold of its rounds.

A figure that does not exist yet, or never will, is None: never zero, NaN or infinite.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest

import msgspec

from engine.speculation.round import FinishReason, Round


class Metrics(msgspec.Struct, frozen=True):
    """What an answer took, in seconds of its lane's own clock, and what speculation gave.

    `to_first_token_s` is the time of all rounds up to the one with the first token, `decode_s` of all later
    ones. `prefill_s` is the target's passes over the `n_prompt` tokens that were not cached; a draft model's
    passes over the prompt count in the time to the first token, as they do for the person who waits.
    `rounds`, `drafted`, `accepted`, `draft_s` and `verify_s` are of decoding only. A drafted token counts
    as drafted even if the answer ended before it was judged: it was paid for.
    `drafted_by_position[i]` and `accepted_by_position[i]` count the rounds in which a token was drafted, and
    accepted, at position i of the draft.
    """

    n_prompt: int = 0
    n_tokens: int = 0
    to_first_token_s: float = 0.0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    rounds: int = 0
    drafted_by_position: tuple[int, ...] = ()
    accepted_by_position: tuple[int, ...] = ()
    draft_s: float = 0.0
    verify_s: float = 0.0
    finish_reason: FinishReason | None = None

    @property
    def ttft_s(self) -> float | None:
        """Time to first token: prompt submitted to first token out."""
        return self.to_first_token_s if self.n_tokens else None

    @property
    def prefill_tokens_per_s(self) -> float | None:
        return _ratio(self.n_prompt, self.prefill_s)

    @property
    def tokens_per_s(self) -> float | None:
        """Throughput: tokens per second of decode, the first token not counted, it belongs to the prompt."""
        return _ratio(self.n_tokens - 1, self.decode_s) if self.n_tokens > 1 else None

    @property
    def tpot_s(self) -> float | None:
        """Time per output token: mean time between tokens after the first."""
        return self.decode_s / (self.n_tokens - 1) if self.n_tokens > 1 else None

    @property
    def end_to_end_s(self) -> float:
        """Submitted to finished, or to the last round so far: the lane's own clock."""
        return self.to_first_token_s + self.decode_s

    @property
    def drafted(self) -> int:
        return sum(self.drafted_by_position)

    @property
    def accepted(self) -> int:
        return sum(self.accepted_by_position)

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted per drafted token; None if nothing was drafted."""
        return _ratio(self.accepted, self.drafted)

    @property
    def mean_accepted_length(self) -> float | None:
        """Tokens out per round: 1 + accepted / rounds; None before the first round."""
        return 1.0 + self.accepted / self.rounds if self.rounds else None

    def plus(self, done: Round) -> Metrics:
        """Return the figures with one more round."""
        is_decode = not done.is_prompt_pass
        first_is_out = self.n_tokens > 0
        return Metrics(
            n_prompt=self.n_prompt + done.n_prompt,
            n_tokens=self.n_tokens + len(done.tokens),
            to_first_token_s=self.to_first_token_s + (0.0 if first_is_out else done.total_s),
            prefill_s=self.prefill_s + (0.0 if is_decode else done.verify_s),
            decode_s=self.decode_s + (done.total_s if first_is_out else 0.0),
            rounds=self.rounds + is_decode,
            drafted_by_position=_count(self.drafted_by_position, len(done.drafted)),
            accepted_by_position=_count(self.accepted_by_position, done.accepted, at_least=len(done.drafted)),
            draft_s=self.draft_s + (done.draft_s if is_decode else 0.0),
            verify_s=self.verify_s + (done.verify_s if is_decode else 0.0),
            finish_reason=done.finish_reason or self.finish_reason,
        )


def measure(rounds: Iterable[Round]) -> Metrics:
    """Return the figures of `rounds`."""
    metrics = Metrics()
    for done in rounds:
        metrics = metrics.plus(done)
    return metrics


def _ratio(amount: float, of: float) -> float | None:
    return amount / of if of > 0 else None


def _count(counts: tuple[int, ...], n: int, at_least: int = 0) -> tuple[int, ...]:
    """Add 1 to the first `n` counts; the result has `at_least` entries."""
    added = [1] * n + [0] * (at_least - n)
    return tuple(count + more for count, more in zip_longest(counts, added, fillvalue=0))
