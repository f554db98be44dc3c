"""Drafting with an EAGLE-3 head: one layer that reads three layers' hidden states of the target.

Li et al. 2025 (EAGLE-3); llama.cpp's common/speculative.cpp, `common_speculative_impl_draft_eagle3`, and
src/models/eagle3.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from engine.speculation.choosing import DraftChooser
from engine.speculation.protocols import Draft, Gate, HiddenStates, Logits, Sampler
from engine.speculation.round import DraftSource
from engine.speculation.state_reading import StateFollower, StateReader


class Eagle3Model(StateReader, Protocol):
    """The head. Its entry at position P is made of g[P], the encoded states of the target at P, and token P + 1.

    `read` takes the target's states and those next tokens.
    """

    def step(self, token: int) -> None:
        """Make one more entry: of `token` and, in place of g, what the head itself gave at the last entry."""

    def read_last_again(self, token: int) -> None:
        """Make the last entry of `read` once more, so that its outputs can be read."""

    def logits(self) -> Logits:
        """Return the logits of the last entry: shape (n_vocab,), a view until the next pass.

        Over the target's vocabulary. A head of a reduced one has minus infinity at what it lacks: its q is 0 there,
        which is exactly what it is sampled from, so verification stays lossless.
        """


class Eagle3Drafter:
    """Proposes what the head says after the states of the target: its argmax when greedy, else sampled tokens.

    The entry before a draft needs the token that the target has just chosen: it is made by `draft`, together with
    those that were accepted since, in one pass. A draft of n tokens takes n passes of the head.
    """

    def __init__(self, model: Eagle3Model, target: HiddenStates, n_target_vocab: int) -> None:
        self._model = model
        self._follower = StateFollower(target, model, lookahead=1)
        self._n_target_vocab = n_target_vocab

    @property
    def source(self) -> DraftSource:
        return DraftSource.EAGLE3

    def begin(self, prompt: Sequence[int]) -> int:
        return self._follower.begin(prompt)

    def observe(self, tokens: Sequence[int], first_position: int) -> None:
        self._follower.observe(tokens, first_position)

    def draft(
        self, history: Sequence[int], n_max: int, sampler: Sampler, rng: np.random.Generator, gate: Gate
    ) -> Draft:
        n_entries = len(history) - 1
        n_max = min(n_max, self._model.n_ctx - n_entries + 1)
        n_read = self._follower.n_read
        if n_max <= 0 or not self._follower.catch_up(history):
            return Draft()
        if n_read == n_entries:
            # Asked twice about one history.
            if not self._follower.drop_draft():
                return Draft()
            self._model.read_last_again(history[-1])
        chosen = DraftChooser(sampler, rng, gate, self._n_target_vocab)
        while (token := chosen.choose(self._model.logits())) is not None and len(chosen) < n_max:
            self._model.step(token)
        return chosen.draft(DraftSource.EAGLE3)
