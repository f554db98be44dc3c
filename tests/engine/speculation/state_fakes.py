"""A Markov chain that publishes hidden states, and caches of drafters that check what they are given to read.

The state of a position is a checksum of everything up to it and its token, so a state in the wrong place is noticed.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from engine.errors import Cancelled
from engine.speculation.block_draft import Block
from engine.speculation.kept_states import States
from engine.speculation.protocols import Logits
from tests.numpy_models import NumpyModel

WIDTH: Final = 3


@dataclass
class PublishingModel(NumpyModel):
    """A Target and its HiddenStates: two halves of the checksum, and the token."""

    width: int = WIDTH
    _shown: int = 0

    def extend(self, tokens: Sequence[int], n_rows: int) -> None:
        self._shown = 0
        super().extend(tokens, n_rows)
        self._shown = len(tokens)

    def rewind(self, n_tokens: int) -> None:
        super().rewind(n_tokens)
        self._shown = 0

    def rows(self) -> States:
        assert self._shown, "hidden states of a pass that is gone"
        count = len(self.cached)
        return np.array(
            [state_of(self.cached[: i + 1]) for i in range(count - self._shown, count)], np.float32
        )


def state_of(tokens: Sequence[int]) -> tuple[int, int, int]:
    checksum = zlib.crc32(bytes(tokens))
    return checksum >> 16, checksum & 0xFFFF, tokens[-1]


@dataclass
class Entries:
    """A StateReader whose entries are the states themselves, and the tokens that came with them."""

    target: PublishingModel
    table: Logits
    n_ctx: int
    n_batch: int = 3
    cancel_at_read: int | None = None
    n_read: int = 0
    has_outputs: bool = False
    states: list[tuple[int, ...]] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    rows: list[Logits] = field(init=False)

    def __post_init__(self) -> None:
        # Each row is one object for good: the numpy sampler remembers its distribution.
        self.rows = list(self.table)

    def rewind(self, n_entries: int) -> int:
        assert 0 <= n_entries <= len(self.states), "rewind to what was never read"
        del self.states[n_entries:], self.tokens[n_entries:]
        self.has_outputs = False
        return n_entries

    def read(self, states: States, tokens: Sequence[int], *, keep_outputs: bool) -> None:
        assert 0 < len(states) == len(tokens) <= self.n_batch
        assert len(self.states) + len(states) <= self.n_ctx
        self.n_read += 1
        if self.n_read == self.cancel_at_read:
            raise Cancelled("Stopped.")
        self.states.extend(tuple(int(number) for number in state) for state in states)
        self.tokens.extend(tokens)
        self.has_outputs = keep_outputs

    def check(self) -> None:
        """Assert that the entries are the states of what the target has cached, all of it."""
        cached = self.target.cached
        assert self.states == [state_of(cached[: i + 1]) for i in range(len(cached))]


@dataclass
class NumpyHead(Entries):
    """An Eagle3Model: says what `table` says after the last token that it was given."""

    n_steps: int = 0

    def rewind(self, n_entries: int) -> int:
        self.n_steps = 0
        # Steps are entries without states; they are the last ones.
        n_steps = len(self.tokens) - len(self.states)
        del self.tokens[len(self.tokens) - n_steps :]
        return super().rewind(n_entries)

    def read(self, states: States, tokens: Sequence[int], *, keep_outputs: bool) -> None:
        assert not self.n_steps, "states are read after what a draft left"
        super().read(states, tokens, keep_outputs=keep_outputs)

    def step(self, token: int) -> None:
        assert self.has_outputs
        self.n_steps += 1
        self.tokens.append(token)
        assert len(self.tokens) <= self.n_ctx

    def read_last_again(self, token: int) -> None:
        assert self.tokens[-1] == token
        self.has_outputs = True

    def logits(self) -> Logits:
        assert self.has_outputs
        if not self.n_steps:
            self.check()
            # The token that comes with a state is the one after it.
            assert self.tokens[:-1] == list(self.target.cached[1:])
        return self.rows[self.tokens[-1]]


@dataclass
class NumpyBlocks(Entries):
    """A BlockModel: row i says what `table` says i + 1 places after the token, along the likeliest path.

    So its rows are fixed before any token is drawn, like those of DSpark.
    """

    max_draft: int = 4
    confidences: Sequence[float] = ()
    has_markov_head: bool = False

    def block(self, token: int, n_draft: int) -> Block:
        self.check()
        rows = []
        for _ in range(n_draft):
            rows.append(self.rows[token])
            token = int(rows[-1].argmax())
        confidences = np.array(self.confidences[:n_draft], np.float32) if self.confidences else None
        return Block(rows, confidences, self.rebias if self.has_markov_head else None)

    def rebias(self, row: Logits, drawn: int, likeliest: int) -> Logits:
        assert drawn != likeliest
        assert row is self.rows[likeliest]
        return self.rows[drawn]
