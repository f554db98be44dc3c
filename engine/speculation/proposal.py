"""A draft in the making, one token after the other, by the rules that keep it lossless."""

from __future__ import annotations

import numpy as np

from engine.speculation.confidence import top_probability
from engine.speculation.protocols import Distribution, Draft, Gate, Logits, Sampler
from engine.speculation.round import DraftSource
from engine.speculation.verification import sample


class Proposal:
    """Chooses tokens from a drafter's rows: the argmax when greedy, else sampled, with what each was sampled from.

    The gate is asked before a token is chosen, so that whether a sampled token is submitted never depends on it.
    """

    def __init__(self, sampler: Sampler, rng: np.random.Generator, gate: Gate) -> None:
        self.tokens: list[int] = []
        self._ahead = sampler.fork()
        self._rng = rng
        self._gate = gate
        self._distributions: list[Distribution] = []
        self._confidences: list[float] = []

    def choose(self, row: Logits, confidence: float | None = None) -> int | None:
        """Return the next token by its `row` of logits over the target's ids, None where the gate ends the draft.

        `confidence` None: the probability of the most likely token.
        """
        sure = top_probability(row) if confidence is None else confidence
        if not self._gate(len(self.tokens), sure):
            return None
        if self._ahead.is_greedy:
            token = self._ahead.argmax(row)
        else:
            self._distributions.append(self._ahead.distribution(row))
            token = sample(self._distributions[-1], self._rng.random())
        self._confidences.append(sure)
        self._ahead.accept(token)
        self.tokens.append(token)
        return token

    def draft(self, source: DraftSource) -> Draft:
        """Return what was chosen; the empty draft if nothing was."""
        if not self.tokens:
            return Draft()
        distributions = None if self._ahead.is_greedy else tuple(self._distributions)
        return Draft(tuple(self.tokens), source, distributions, tuple(self._confidences))
