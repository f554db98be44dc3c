"""Choosing the tokens of a draft from a drafter's logits: what every drafter with logits has in common."""

from __future__ import annotations

import numpy as np

from engine.errors import DecodeFailed
from engine.speculation.confidence import top_probability
from engine.speculation.protocols import Distribution, Draft, Gate, Logits, Sampler
from engine.speculation.round import DraftSource
from engine.speculation.verification import sample


class DraftChooser:
    """Collects a draft: the argmax of each row when greedy, else a token sampled from the row's distribution after the
    request's own penalties, truncation and temperature, which is kept for verification.

    `gate` is asked before each token with a confidence that does not depend on it. `n_target_vocab` is the target's
    number of tokens; ids from there on are never proposed.
    """

    def __init__(self, sampler: Sampler, rng: np.random.Generator, gate: Gate, n_target_vocab: int) -> None:
        self._ahead = sampler.fork()
        self._rng, self._gate, self._n_target_vocab = rng, gate, n_target_vocab
        self._tokens: list[int] = []
        self._distributions: list[Distribution] = []
        self._confidences: list[float] = []

    def __len__(self) -> int:
        return len(self._tokens)

    def choose(self, row: Logits, confidence: float | None = None) -> int | None:
        """Return the next token; None where the draft ends before it.

        `confidence` None: that of the row's most likely token.
        """
        row = target_sized(row, self._n_target_vocab)
        if confidence is None:
            confidence = top_probability(row)
        if not self._gate(len(self._tokens), confidence):
            return None
        try:
            token = self._choose(row)
        except DecodeFailed:
            # A reduced vocabulary may hold nothing that a grammar allows here. The target says what comes.
            return None
        self._tokens.append(token)
        self._confidences.append(confidence)
        self._ahead.accept(token)
        return token

    def draft(self, source: DraftSource) -> Draft:
        if not self._tokens:
            return Draft()
        return Draft(
            tuple(self._tokens),
            source,
            None if self._ahead.is_greedy else tuple(self._distributions),
            tuple(self._confidences),
        )

    def _choose(self, row: Logits) -> int:
        if self._ahead.is_greedy:
            return self._ahead.argmax(row)
        distribution = self._ahead.distribution(row)
        self._distributions.append(distribution)
        return sample(distribution, self._rng.random())


def target_sized(row: Logits, n_target_vocab: int) -> Logits:
    """Return `row` over the target's ids: what only the drafter knows is dropped, what it lacks is impossible."""
    missing = n_target_vocab - len(row)
    if missing == 0:
        return row
    if missing > 0:
        return np.pad(row, (0, missing), constant_values=-np.inf)
    return row[:n_target_vocab]
