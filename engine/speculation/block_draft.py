"""Drafting a whole block in one pass: DFlash, DFlash 2 and DSpark.

A block drafter keeps keys and values that it makes of the target's hidden states, and looks at them from a block of
the last token and mask tokens. llama.cpp: common/speculative.cpp, `common_speculative_impl_draft_dflash`, and
src/models/dflash.cpp.

Why sampling from its rows is lossless. Speculative sampling asks of q_i only that token i was drawn from it, and that
it was fixed before: never that q_i is a good guess, nor that it looks at the tokens drawn before it.
- DFlash: the rows of a block are independent of each other's tokens. A draft of incoherent tokens is accepted less
  often, and what is emitted has the target's distribution all the same.
- DSpark: a Markov head in the graph biases row i by the *argmax* of row i - 1, whatever is drawn there
  (src/models/dflash.cpp, `build_dspark_markov_head`). So every q_i is fixed before the first token is drawn. Where
  another token was drawn and the head can be read, row i is biased by that one instead: then q_i depends on token
  i - 1, which is fixed, and on none after it.
- DFlash 2: its selector gives scores of steps from candidate to candidate. q_i is a softmax of those that lead on
  from the token drawn before: it depends on that token, which is fixed, and on none after it.
Confidences come with the block and are known before any token is chosen, so that a draft may end by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.speculation.choosing import DraftChooser
from engine.speculation.protocols import Draft, Gate, HiddenStates, Logits, Sampler
from engine.speculation.round import DraftSource
from engine.speculation.state_reading import StateFollower, StateReader


class Rebias(Protocol):
    """A Markov head, for a draft that has left the likeliest path."""

    def __call__(self, row: Logits, drawn: int, likeliest: int) -> Logits:
        """Return `row`, which stands for the token `likeliest` before it, as it is after `drawn`."""


@dataclass(frozen=True, slots=True)
class Block:
    """What a block drafter says about the next tokens: `logits[i]`, shape (n_vocab,), of the token `i` places on.

    `confidences[i]` is what a confidence head thinks of it, None where there is no such head. Views until the next
    pass. With `rebias` each row is about what follows the most likely token of the row before.
    """

    logits: Sequence[Logits]
    confidences: NDArray[np.float32] | None = None
    rebias: Rebias | None = None


@dataclass(frozen=True, slots=True)
class Lattice:
    """What DFlash 2 says: `candidates[i]`, shape (k,), of the token `i` places on, and `scores[i][j]`, shape (k,), of
    each of them after candidate j of the place before. All rows of `scores[0]` count from the token before the draft.
    """

    candidates: NDArray[np.int32]
    scores: NDArray[np.float32]


class BlockModel(StateReader, Protocol):
    """A block drafter's model. Its entry at position P is made of the target's states at P alone; `read` looks at no
    tokens."""

    @property
    def max_draft(self) -> int:
        """Longest draft that it was trained for."""

    def block(self, token: int, n_draft: int) -> Block | Lattice:
        """Return what it says about `n_draft` tokens after `token`, which follows the entries.

        What the block puts after them stays until `rewind`, which what it said outlives. Raises Cancelled or
        DecodeFailed.
        """


class BlockDrafter:
    """Proposes a block: one pass of the drafter, however long the draft.

    The block is as long as the draft needs: what a model says about a place depends little on how many masks come
    after it, and llama.cpp's blocks are as long as its n_max too.
    """

    def __init__(
        self, model: BlockModel, target: HiddenStates, n_target_vocab: int, source: DraftSource
    ) -> None:
        self._model = model
        self._follower = StateFollower(target, model, lookahead=0)
        self._n_target_vocab = n_target_vocab
        self._source = source

    @property
    def source(self) -> DraftSource:
        return self._source

    def begin(self, prompt: Sequence[int]) -> int:
        return self._follower.begin(prompt)

    def observe(self, tokens: Sequence[int], first_position: int) -> None:
        self._follower.observe(tokens, first_position)

    def draft(
        self, history: Sequence[int], n_max: int, sampler: Sampler, rng: np.random.Generator, gate: Gate
    ) -> Draft:
        n_draft = min(n_max, self._model.max_draft, self._model.n_ctx - len(history))
        if n_draft <= 0 or not self._follower.catch_up(history):
            return Draft()
        block = self._model.block(history[-1], n_draft)
        self._follower.drop_draft()
        chosen = DraftChooser(sampler, rng, gate, self._n_target_vocab)
        if isinstance(block, Lattice):
            _walk(block, chosen, self._n_target_vocab)
        else:
            _take(block, chosen)
        return chosen.draft(self._source)


def _take(block: Block, chosen: DraftChooser) -> None:
    drawn = likeliest = -1
    for i, row in enumerate(block.logits):
        confidence = None if block.confidences is None else float(block.confidences[i])
        fitting = row if block.rebias is None or drawn == likeliest else block.rebias(row, drawn, likeliest)
        token = chosen.choose(fitting, confidence)
        if token is None:
            return
        if block.rebias is not None:
            drawn, likeliest = token, int(row.argmax())


def _walk(lattice: Lattice, chosen: DraftChooser, n_target_vocab: int) -> None:
    """Choose each token among the candidates by their scores after the token before it.

    Greedy that is llama.cpp's path. The confidence is the best candidate's share of the k, its p_min for DFlash 2.
    """
    at = 0
    for candidates, steps in zip(lattice.candidates, lattice.scores, strict=True):
        scores = steps[at]
        confidence = float(1.0 / np.exp(scores - scores.max()).sum())
        known = candidates < n_target_vocab
        row = np.full(n_target_vocab, -np.inf, np.float32)
        row[candidates[known]] = scores[known]
        token = chosen.choose(row, confidence)
        if token is None:
            return
        at = int((candidates == token).argmax())
