"""Drafting without a model: what followed the last few tokens when they appeared before, in prompt or answer.

Prompt lookup (Saxena 2023; llama.cpp's common/ngram-map.cpp is the same idea), with the longest match first
and the most recent one among equals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from engine.speculation.cache import common_prefix
from engine.speculation.protocols import Draft, Gate, Sampler
from engine.speculation.round import DraftSource
from engine.speculation.settings import MAX_DRAFT_LENGTH


@dataclass(frozen=True, slots=True)
class NgramSettings:
    """How the end of the history is looked up.

    A match has at least `min_match` tokens; of longer ones than `max_match` the rest counts for nothing. At
    most `max_candidates` earlier places are looked at, the most recent first: this bounds the cost of a
    draft.
    """

    min_match: int = 2
    max_match: int = MAX_DRAFT_LENGTH + 1
    max_candidates: int = 64


class NgramDrafter:
    """Proposes the continuation of the longest earlier match of the end of the history: point masses.

    A match of m tokens is trusted for m - 1 tokens. Chance matches are short, and a wrong token costs a row
    of the target's pass: on the benchmark prompts this accepts 74 of 100 drafted tokens instead of 28 at
    draft length 16, for tokens per round of 1.66 instead of 1.81.
    """

    def __init__(self, settings: NgramSettings | None = None) -> None:
        self._settings = settings or NgramSettings()
        self._index = NgramIndex(self._settings.min_match)

    @property
    def source(self) -> DraftSource:
        return DraftSource.NGRAM

    def begin(self, prompt: Sequence[int]) -> int:
        """Keep what the index shares with `prompt`: a conversation's next turn indexes only what is new."""
        self._index.truncate(common_prefix(self._index.tokens, prompt))
        self._index.extend(prompt)
        return len(prompt)

    def observe(self, tokens: Sequence[int], first_position: int) -> None:
        """An n-gram drafter reads nothing of the target."""

    def draft(
        self, history: Sequence[int], n_max: int, sampler: Sampler, rng: np.random.Generator, gate: Gate
    ) -> Draft:
        self._index.extend(history)
        match = self._index.longest_match(self._settings.max_match, self._settings.max_candidates)
        if match is None:
            return Draft()
        n_max = min(n_max, max(1, match.n_tokens - 1))
        tokens = self._index.tokens[match.next_position : match.next_position + n_max]
        # Going on over the end of the history into the draft itself repeats a repetition.
        for i in range(n_max - len(tokens)):
            tokens.append(tokens[i])
        return Draft(tuple(tokens), DraftSource.NGRAM)


class Match(NamedTuple):
    """An earlier place with the same last `n_tokens` tokens, and the position of what followed there."""

    next_position: int
    n_tokens: int


class NgramIndex:
    """Where each run of `n` tokens was, newest first, as chains through the sequence (the hash chains of
    LZ77).

    Adding a token and taking the last one back both take constant time, so that neither a round's cost nor
    an edit's grows with the context.
    """

    def __init__(self, n: int) -> None:
        self.tokens: list[int] = []
        self._n = n
        self._newest: dict[tuple[int, ...], int] = {}
        self._older: list[int] = []
        """For each position, where the run that ends there ended last time; -1: never."""

    def extend(self, history: Sequence[int]) -> None:
        """Add what `history` has after the indexed tokens; the indexed ones must be its beginning."""
        for i in range(len(self.tokens), len(history)):
            self.tokens.append(history[i])
            run = self._run(i)
            self._older.append(self._newest.get(run, -1))
            self._newest[run] = i

    def truncate(self, n_tokens: int) -> None:
        """Forget all but the first `n_tokens` tokens."""
        for i in range(len(self.tokens) - 1, n_tokens - 1, -1):
            run, older = self._run(i), self._older.pop()
            if older < 0:
                del self._newest[run]
            else:
                self._newest[run] = older
            self.tokens.pop()

    def longest_match(self, max_match: int, max_candidates: int) -> Match | None:
        """Return the longest earlier match of the last tokens, the most recent of equals."""
        last = len(self.tokens) - 1
        if last < self._n:
            return None
        best: Match | None = None
        end = self._older[last]
        for _ in range(max_candidates):
            if end < self._n - 1 or (best is not None and best.n_tokens >= max_match):
                break
            n_tokens = self._match_length(end, last, max_match)
            if best is None or n_tokens > best.n_tokens:
                best = Match(end + 1, n_tokens)
            end = self._older[end]
        return best

    def _match_length(self, end: int, last: int, max_match: int) -> int:
        tokens, n = self.tokens, 0
        while n < max_match and n <= end and tokens[end - n] == tokens[last - n]:
            n += 1
        return n

    def _run(self, i: int) -> tuple[int, ...]:
        # The first positions end shorter runs, which match nothing longer.
        return tuple(self.tokens[max(0, i + 1 - self._n) : i + 1])
