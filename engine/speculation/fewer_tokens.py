"""A drafter whose vocabulary is a little smaller than its target's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.speculation.protocols import Draft, Drafter, Gate, Sampler
from engine.speculation.round import DraftSource


class FewerTokens:
    """A Drafter that asks `drafter`, which knows only tokens below `n_vocab`, about texts of such tokens alone.

    Vocabularies of one family may differ at their ends (llama.cpp lets 128 tokens pass): a fine-tune has added a few,
    say. A text with one of those gets no draft, and `drafter` sees nothing of it, until a prompt comes without them.
    """

    def __init__(self, drafter: Drafter, n_vocab: int) -> None:
        self._drafter, self._n_vocab = drafter, n_vocab
        self._is_lost = False

    @property
    def source(self) -> DraftSource:
        return self._drafter.source

    def begin(self, prompt: Sequence[int]) -> int:
        self._is_lost = not self._knows(prompt)
        return len(prompt) if self._is_lost else self._drafter.begin(prompt)

    def observe(self, tokens: Sequence[int], first_position: int) -> None:
        if self._is_lost:
            return
        self._is_lost = not self._knows(tokens)
        if not self._is_lost:
            self._drafter.observe(tokens, first_position)

    def draft(
        self, history: Sequence[int], n_max: int, sampler: Sampler, rng: np.random.Generator, gate: Gate
    ) -> Draft:
        # The last token has not been observed yet.
        if self._is_lost or not self._knows(history[-1:]):
            return Draft()
        return self._drafter.draft(history, n_max, sampler, rng, gate)

    def _knows(self, tokens: Sequence[int]) -> bool:
        return max(tokens, default=0) < self._n_vocab
