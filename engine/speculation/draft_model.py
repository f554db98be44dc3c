"""Drafting with a small model of the same vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.speculation.cache import common_prefix, evaluate_missing
from engine.speculation.choosing import DraftChooser
from engine.speculation.protocols import CausalModel, Draft, Gate, Sampler
from engine.speculation.round import DraftSource


class DraftModelDrafter:
    """Proposes what a small model would say: its argmax when greedy, else tokens sampled from its
    distribution after the request's own penalties, truncation and temperature, which is kept for
    verification.

    `n_target_vocab` is the target's number of tokens; ids from there on are never proposed. The prompt is
    evaluated while the target's own prompt passes are observed, so it counts in the time to the first
    token. Afterwards each draft begins with one pass over the tokens that were committed since, and the
    last proposed token is never evaluated: a draft of n tokens takes n passes. A history that does not fit
    the small model's context gets no draft.
    """

    def __init__(self, model: CausalModel, n_target_vocab: int) -> None:
        self._model = model
        self._n_target_vocab = n_target_vocab
        self._prompt: Sequence[int] = ()
        self._n_agreed = 0
        """Leading tokens in which cache and history are known to agree, so that no round compares from the
        start."""

    @property
    def source(self) -> DraftSource:
        return DraftSource.DRAFT_MODEL

    def begin(self, prompt: Sequence[int]) -> int:
        self._prompt = prompt if len(prompt) < self._model.n_ctx else ()
        self._n_agreed = common_prefix(self._model.cached, prompt)
        self._model.rewind(self._n_agreed)
        return len(prompt)

    def observe(self, tokens: Sequence[int], first_position: int) -> None:
        """Keep up with the target in the prompt; drafted tokens are evaluated by `draft`, once it is known
        which stay."""
        evaluate_missing(self._model, self._prompt[: first_position + len(tokens)])

    def draft(
        self, history: Sequence[int], n_max: int, sampler: Sampler, rng: np.random.Generator, gate: Gate
    ) -> Draft:
        n_max = min(n_max, self._model.n_ctx - len(history) + 1)
        if n_max <= 0:
            return Draft()
        self._catch_up(history)
        chooser = DraftChooser(sampler, rng, gate, self._n_target_vocab)
        while (token := chooser.choose(self._model.logits(0))) is not None:
            if len(chooser) == n_max:
                break
            self._model.extend([token], n_rows=1)
        return chooser.draft(DraftSource.DRAFT_MODEL)

    def _catch_up(self, history: Sequence[int]) -> None:
        """Roll back to what was accepted and evaluate the rest of `history`, at least its last token."""
        agreed = common_prefix(self._model.cached, history, start=self._n_agreed)
        self._model.rewind(min(agreed, len(history) - 1))
        evaluate_missing(self._model, history)
        self._n_agreed = len(history)
