"""Where the last few tokens of a sequence were before: hash chains over runs of several lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

RUN_LENGTHS: Final = (1, 2, 4, 8)


class Place(NamedTuple):
    """An earlier place with the same last `n_tokens` tokens, and the position of what followed there."""

    next_position: int
    n_tokens: int


class NgramIndex:
    """Where each run of `run_lengths` tokens was, newest first, as chains through the sequence (the hash chains of
    LZ77), one set of chains for each length.

    Adding a token and taking the last one back both take constant time, and a look-up takes at most `max_places`
    steps: neither a round's cost nor an edit's grows with the context.
    """

    def __init__(self, run_lengths: Sequence[int] = RUN_LENGTHS) -> None:
        self.tokens: list[int] = []
        self._chains = tuple(_Chain(n) for n in sorted(run_lengths, reverse=True))

    def extend(self, history: Sequence[int]) -> None:
        """Add what `history` has after the indexed tokens; the indexed ones must be its beginning."""
        start = len(self.tokens)
        self.tokens.extend(history[start:])
        for chain in self._chains:
            chain.extend(self.tokens, start)

    def truncate(self, n_tokens: int) -> None:
        """Forget all but the first `n_tokens` tokens."""
        for chain in self._chains:
            chain.truncate(self.tokens, n_tokens)
        del self.tokens[n_tokens:]

    def places(self, max_match: int, max_places: int) -> list[Place]:
        """Return where the longest indexed run that ends the sequence was before, the most recent first.

        At most `max_places`. Each says how many tokens match there, counted up to `max_match`.
        """
        for chain in self._chains:
            ends = chain.earlier_ends(len(self.tokens) - 1, max_places)
            if ends:
                return [Place(end + 1, self._match_length(end, chain.n, max_match)) for end in ends]
        return []

    def _match_length(self, end: int, n: int, max_match: int) -> int:
        """Return how many tokens up to `end` equal the last ones; `n` are known to."""
        tokens, last = self.tokens, len(self.tokens) - 1
        while n < max_match and n <= end and tokens[end - n] == tokens[last - n]:
            n += 1
        return min(n, max_match)


class _Chain:
    """For each position, where the run of `n` tokens that ends there ended last time; -1: never."""

    __slots__ = ("_newest", "_older", "n")

    def __init__(self, n: int) -> None:
        self.n = n
        self._newest: dict[tuple[int, ...], int] = {}
        self._older: list[int] = []

    def extend(self, tokens: Sequence[int], start: int) -> None:
        n, newest, older = self.n, self._newest, self._older
        for end in range(start, len(tokens)):
            if end + 1 < n:
                older.append(-1)
                continue
            run = tuple(tokens[end + 1 - n : end + 1])
            older.append(newest.get(run, -1))
            newest[run] = end

    def truncate(self, tokens: Sequence[int], n_tokens: int) -> None:
        """Take back all but the first `n_tokens` of `tokens`."""
        for end in range(len(self._older) - 1, n_tokens - 1, -1):
            older = self._older.pop()
            if end + 1 < self.n:
                continue
            run = tuple(tokens[end + 1 - self.n : end + 1])
            if older < 0:
                del self._newest[run]
            else:
                self._newest[run] = older

    def earlier_ends(self, end: int, max_places: int) -> list[int]:
        ends: list[int] = []
        if end < self.n:
            return ends
        older = self._older
        end = older[end]
        while end >= 0 and len(ends) < max_places:
            ends.append(end)
            end = older[end]
        return ends
