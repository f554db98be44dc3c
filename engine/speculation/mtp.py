"""Drafting with MTP heads: layers that guess the next but one token from the target's last hidden state.

Source: common/speculative.cpp (common_speculative_impl_draft_mtp), three modes. One head goes on from its own hidden
state. Chained heads are trained for one step each: head i proposes token i, over a row of keys and values of its own.
An assistant (gemma4-assistant) has no cells: it looks at the target's, always from the position of the last token.

A head reads pairs: the token at a position with the hidden state of the position before it. Position 0 goes with zeros
in every conversation; llama.cpp keeps what an earlier one left there.

Where llama.cpp evaluates every token of a verification pass on the head as well, here only what was accepted is
evaluated, in one pass with the last token, when a draft is wanted: rejected tokens cost the head nothing, and neither
does a round without a draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.speculation.cache import common_prefix
from engine.speculation.choosing import DraftChooser
from engine.speculation.kept_states import MAX_WAITING, KeptStates
from engine.speculation.protocols import Draft, Gate, HiddenStates, Logits, Sampler
from engine.speculation.round import DraftSource


class MtpHeads(Protocol):
    """The MTP heads of a target: cells for tokens with hidden states, a row of each head for every cell."""

    @property
    def n_heads(self) -> int:
        """Heads that are run one after the other; 1 for one that goes on from its own state, and for an assistant."""

    @property
    def shares_cells(self) -> bool:
        """Whether they look at the target's cells and have none."""

    @property
    def n_cells(self) -> int:
        """The position after the last cell, own or shared."""

    @property
    def n_ctx(self) -> int: ...

    @property
    def n_batch(self) -> int:
        """Most tokens of one pass."""

    def run(
        self,
        head: int,
        tokens: Sequence[int],
        states: NDArray[np.float32],
        first_position: int,
        wants_row: bool,
    ) -> None:
        """Evaluate `tokens` with `states`, one row each, at positions from `first_position` on, under `head`.

        `first_position` is `n_cells`, or anything where there are no cells. `wants_row`: keep logits and state of the
        last token. Raises Cancelled or DecodeFailed; the cells are then those from before.
        """

    def rewind(self, n_cells: int) -> int:
        """Forget the cells from position `n_cells` on; return the position after those that are left.

        That is 0 where a sliding window has lost what the next token looks at.
        """

    def logits(self) -> Logits:
        """Return the logits of the last token of the last pass: shape (n_vocab,)."""

    def state(self) -> NDArray[np.float32]:
        """Return the hidden state of the last token of the last pass: shape (1, width)."""


class MtpDrafter:
    """Proposes what MTP heads say: their argmax when greedy, else tokens sampled from their known distribution.

    `states` are the target's final states, `n_target_vocab` its number of tokens. A draft of n tokens takes n passes of
    a head, whose last token is never evaluated; chained heads propose at most one token each.
    """

    def __init__(self, heads: MtpHeads, states: HiddenStates, n_target_vocab: int) -> None:
        self._heads, self._states = heads, states
        self._n_target_vocab = n_target_vocab
        self._tokens: list[int] = []
        """What is known of the sequence: the tokens of the cells and of the states that wait."""
        self._waiting = KeptStates(states.width)
        """By the position of the token that a state goes with: one after the state's own."""
        self._n_cells = [0] * heads.n_heads
        """For each head, the position before which its row of every cell is right."""
        self._n_prompt = 0
        self._forget()

    @property
    def source(self) -> DraftSource:
        return DraftSource.MTP

    def begin(self, prompt: Sequence[int]) -> int:
        """Keep what belongs to `prompt`; return how many of its tokens the target need not show again.

        A state is only kept until its cell is made: where the prompt departs from what was evaluated, the target shows
        the last common token once more.
        """
        self._n_prompt = len(prompt)
        if self._heads.shares_cells:
            self._waiting.clear()
            return len(prompt)
        n_common = common_prefix(self._tokens, prompt)
        del self._tokens[n_common:]
        self._waiting.truncate(n_common + 1)
        self._n_cells = [min(n_cells, n_common) for n_cells in self._n_cells]
        next_cell = min(self._n_cells)
        if self._waiting.covers(next_cell):
            return self._waiting.end - 1
        if next_cell == 0:
            self._forget()
            return 0
        self._waiting.clear()
        return next_cell - 1

    def observe(self, tokens: Sequence[int], first_position: int) -> None:
        """Take the target's states of `tokens`; evaluate those of a prompt at once."""
        if self._heads.shares_cells:
            # There are no cells to make up for: a draft begins with a state of the last pass.
            self._waiting.clear()
            self._waiting.put(first_position + 1, self._states.rows())
            return
        self._note(tokens, first_position)
        if first_position - min(self._n_cells) >= MAX_WAITING:
            self._catch_up(first_position)
        self._waiting.put(first_position + 1, self._states.rows())
        if not self._waiting.covers(min(self._n_cells)) and self._waiting.start > min(self._n_cells):
            # Passes of the target were missed: nothing can be made of the rest until the next `begin`.
            self._forget()
        elif first_position + len(tokens) <= self._n_prompt:
            self._catch_up(first_position + len(tokens))

    def draft(
        self, history: Sequence[int], n_max: int, sampler: Sampler, rng: np.random.Generator, gate: Gate
    ) -> Draft:
        heads, n = self._heads, len(history)
        is_chain = heads.n_heads > 1
        n_max = min(n_max, heads.n_ctx - n + 1, heads.n_heads if is_chain else n_max)
        if n_max <= 0 or not self._is_ready(n):
            return Draft()
        self._waiting.truncate(n)
        self._tokens[n - 1 :] = [history[n - 1]]
        chosen = DraftChooser(sampler, rng, gate, self._n_target_vocab)
        try:
            for i in range(n_max):
                self._step(i, n, i if is_chain else 0)
                token = chosen.choose(heads.logits())
                if token is None or i + 1 == n_max:
                    break
                self._tokens.append(token)
                self._waiting.put(n + i, heads.state())
        finally:
            self._end_draft(n)
        return chosen.draft(DraftSource.MTP)

    def _is_ready(self, n: int) -> bool:
        """Whether the state of the position before the last of `n` tokens is there, and all that lies between."""
        if not self._waiting.covers(n - 1):
            return False
        if self._heads.shares_cells:
            return self._heads.n_cells == n - 1
        return self._waiting.start <= min(self._n_cells)

    def _step(self, i: int, n: int, head: int) -> None:
        """Run `head` over all that it lacks up to the token before draft token `i` of a history of `n` tokens."""
        if self._heads.shares_cells:
            # Every step from the same position: https://github.com/huggingface/transformers, gemma4_assistant.
            at = n - 1 + i
            self._heads.run(head, self._tokens[-1:], self._waiting.between(at, at + 1), n - 1, True)
            return
        first = min(self._n_cells[head], n - 1 + i)
        self._evaluate(head, first, n + i, wants_row=True)

    def _end_draft(self, n: int) -> None:
        """Take the draft back out of what is known: its tokens may be rejected, and its states are the head's own."""
        del self._tokens[n:]
        self._waiting.truncate(n)
        self._n_cells = [min(n_cells, n) for n_cells in self._n_cells]
        # The last state stays: the next draft may be for the same history.
        n_right = n if self._heads.shares_cells else min(self._n_cells)
        self._waiting.drop_before(min(n_right, n - 1))

    def _note(self, tokens: Sequence[int], first_position: int) -> None:
        """Take `tokens` into what is known; where they differ from it, the cells are void."""
        n_same = common_prefix(self._tokens[first_position:], tokens)
        if n_same < len(tokens):
            self._tokens[first_position:] = tokens
        n_right = first_position + n_same
        if n_same < len(tokens):
            self._n_cells = [min(n_cells, n_right) for n_cells in self._n_cells]

    def _catch_up(self, end: int) -> None:
        """Have every head evaluate the tokens up to position `end`, without asking for anything."""
        for head in range(self._heads.n_heads):
            if self._n_cells[head] < end:
                self._evaluate(head, self._n_cells[head], end, wants_row=False)
        self._waiting.drop_before(min(self._n_cells))

    def _evaluate(self, head: int, first: int, end: int, *, wants_row: bool) -> None:
        """Run `head` over the tokens from `first` to before `end`, in place of the cells that are there."""
        heads = self._heads
        if first < heads.n_cells and heads.rewind(first) < first:
            # A sliding window is gone: the head goes on without what lies before, and drafts worse for a while.
            self._n_cells = [min(n_cells, first) for n_cells in self._n_cells]
        try:
            for start in range(first, end, heads.n_batch):
                stop = min(start + heads.n_batch, end)
                states = self._waiting.between(start, stop)
                heads.run(head, self._tokens[start:stop], states, start, wants_row and stop == end)
                self._n_cells[head] = stop
        finally:
            self._n_cells = [min(n_cells, heads.n_cells) for n_cells in self._n_cells]

    def _forget(self) -> None:
        self._tokens.clear()
        self._n_cells = [0] * self._heads.n_heads
        self._waiting.clear()
        self._waiting.put(0, np.zeros((1, self._states.width), np.float32))
