"""Drafting without a model: what followed the last few tokens when they appeared before, in prompt or answer.

Prompt lookup (Saxena 2023; llama.cpp's common/ngram-map.cpp is the same idea). The prompt of a conversation holds its
earlier turns and what was attached to them, so these are looked up too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from engine.speculation.cache import common_prefix
from engine.speculation.ngram_index import RUN_LENGTHS, NgramIndex, Place
from engine.speculation.ngram_record import NgramRecord, Support
from engine.speculation.protocols import Draft, Gate, Sampler
from engine.speculation.round import DraftSource


@dataclass(frozen=True, slots=True)
class NgramSettings:
    """How the end of the history is looked up.

    The longest run of `run_lengths` that appeared before is followed; of matches longer than `max_match` the rest
    counts for nothing. At most `max_places` earlier places are looked at, the most recent first: this bounds the cost
    of a draft. A draft ends before the token with which the chance that all of it is right falls below `min_chance`.
    """

    run_lengths: tuple[int, ...] = RUN_LENGTHS
    max_match: int = 24
    max_places: int = 8
    min_chance: float = 0.2


class _Guess(NamedTuple):
    """A token that may come next, and what speaks for it."""

    token: int
    n_matched: int
    support: Support


class NgramDrafter:
    """Proposes the continuation of earlier matches of the end of the history: point masses.

    Several places may match. At each token either the longest match is followed (the most recent of equals) or the
    continuation that most places have, whichever the drafter's own record gives the better chance; the places that
    went on differently are then left out. The chance is what the gate is asked with. With every drafted token the
    match is longer by one, so the record of long matches tells how far to trust a draft.

    The record learns from what the history became, whether or not the tokens were drafted.
    """

    def __init__(self, settings: NgramSettings | None = None) -> None:
        self._settings = settings or NgramSettings()
        self._index = NgramIndex(self._settings.run_lengths)
        self._record = NgramRecord()
        self._guesses: list[_Guess] = []
        """What was proposed to follow the indexed tokens, the last one perhaps only thought of."""

    @property
    def source(self) -> DraftSource:
        return DraftSource.NGRAM

    def begin(self, prompt: Sequence[int]) -> int:
        """Keep what the index shares with `prompt`: a conversation's next turn indexes only what is new."""
        self._guesses = []
        self._index.truncate(common_prefix(self._index.tokens, prompt))
        self._index.extend(prompt)
        return len(prompt)

    def observe(self, tokens: Sequence[int], first_position: int) -> None:
        """An n-gram drafter reads nothing of the target."""

    def draft(
        self, history: Sequence[int], n_max: int, sampler: Sampler, rng: np.random.Generator, gate: Gate
    ) -> Draft:
        self._learn(history)
        self._index.extend(history)
        tokens: list[int] = []
        chances: list[float] = []
        places = self._index.places(self._settings.max_match, self._settings.max_places)
        all_right = 1.0
        while places and len(tokens) < n_max:
            guess, chance = self._best_guess(places, tokens)
            self._guesses.append(guess)
            all_right *= chance
            if all_right < self._settings.min_chance or not gate(len(tokens), chance):
                break
            places = [place for place in places if self._next_token(place, tokens) == guess.token]
            tokens.append(guess.token)
            chances.append(chance)
        if not tokens:
            return Draft()
        return Draft(tuple(tokens), DraftSource.NGRAM, None, tuple(chances))

    def _learn(self, history: Sequence[int]) -> None:
        """Compare what was guessed with what came, up to the first wrong guess."""
        n_known = len(self._index.tokens)
        for guess, token in zip(self._guesses, history[n_known : n_known + len(self._guesses)], strict=False):
            was_right = guess.token == token
            self._record.learn(guess.n_matched, guess.support, was_right=was_right)
            if not was_right:
                break
        self._guesses = []

    def _best_guess(self, places: list[Place], drafted: list[int]) -> tuple[_Guess, float]:
        """Return the better of the longest match's next token and the most frequent one, with its chance."""
        votes: dict[int, int] = {}
        longest: dict[int, int] = {}
        for place in places:
            token = self._next_token(place, drafted)
            votes[token] = votes.get(token, 0) + 1
            longest[token] = max(longest.get(token, 0), place.n_tokens)
        # The most recent places come first, and max keeps the first of equals.
        wanted = (max(longest, key=longest.__getitem__), max(votes, key=votes.__getitem__))
        best: tuple[_Guess, float] | None = None
        for token in wanted:
            support = _support(votes[token], len(places))
            n_matched = longest[token] + len(drafted)
            chance = self._record.chance(n_matched, support)
            if best is None or chance > best[1]:
                best = _Guess(token, n_matched, support), chance
        assert best is not None, "there is at least one place"
        return best

    def _next_token(self, place: Place, drafted: list[int]) -> int:
        """Return what follows `place` after `drafted`; over the end of the history it goes on into the draft itself,
        which repeats a repetition.
        """
        tokens = self._index.tokens
        at = place.next_position + len(drafted)
        return tokens[at] if at < len(tokens) else drafted[at - len(tokens)]


def _support(votes: int, n_places: int) -> Support:
    if n_places == 1:
        return Support.ALONE
    if votes == n_places:
        return Support.AGREED
    return Support.MOSTLY if 2 * votes > n_places else Support.HARDLY
