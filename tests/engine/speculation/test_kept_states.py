"""How many hidden states a drafter keeps: what its next draft needs, however long the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from engine.speculation.eagle3 import Eagle3Drafter
from engine.speculation.kept_states import MAX_WAITING, KeptStates, States
from engine.speculation.mtp import MtpDrafter
from engine.speculation.protocols import Logits
from tests.engine.speculation.helpers import answer, tokens_of
from tests.engine.speculation.state_fakes import NumpyHead, PublishingModel, state_of
from tests.numpy_models import markov_table

N_CTX, N_VOCAB = 700, 8
TABLE = markov_table(N_VOCAB, seed=4, sharpness=2.0)


@dataclass
class SharedHead:
    """MtpHeads without cells of its own: says what the table says after the token that it is given."""

    target: PublishingModel
    n_heads: int = 1
    shares_cells: bool = True
    n_ctx: int = N_CTX
    n_batch: int = 32
    _token: int = 0

    @property
    def n_cells(self) -> int:
        return len(self.target.cached)

    def run(
        self, head: int, tokens: Sequence[int], states: States, first_position: int, wants_row: bool
    ) -> None:
        assert len(tokens) == len(states) == 1
        assert first_position == self.n_cells
        if states[0].any():
            assert tuple(states[0]) == state_of(self.target.cached)
        self._token = tokens[0]

    def rewind(self, n_cells: int) -> int:
        return self.n_cells

    def logits(self) -> Logits:
        row: Logits = TABLE[self._token]
        return row

    def state(self) -> States:
        return np.zeros((1, self.target.width), np.float32)


@pytest.mark.parametrize("n_draft", [0, 3])
def test_a_head_on_the_targets_cells_keeps_the_states_of_one_pass(n_draft: int) -> None:
    target = PublishingModel(TABLE, N_CTX)
    drafter = MtpDrafter(SharedHead(target), target, N_VOCAB)
    prompt = [1, 2, 3] * 30
    n_kept = []
    said: list[int] = []
    for done in answer(target, prompt, drafter=drafter, n_draft=n_draft, max_tokens=300):
        n_kept.append(drafter._waiting.end - drafter._waiting.start)
        said += done.tokens
    assert said == tokens_of(answer(PublishingModel(TABLE, N_CTX), prompt, max_tokens=300))
    assert max(n_kept) <= target.n_batch
    assert max(n_kept[3:]) <= 1 + n_draft


def test_a_head_that_is_never_asked_keeps_a_bounded_number() -> None:
    target = PublishingModel(TABLE, N_CTX)
    drafter = Eagle3Drafter(NumpyHead(target, TABLE, N_CTX), target, N_VOCAB)
    n_waiting = []
    for _ in answer(target, [1, 2, 3], drafter=drafter, n_draft=0, max_tokens=400):
        n_waiting.append(drafter._follower._seen.n_waiting)
    assert MAX_WAITING <= max(n_waiting) <= MAX_WAITING + 2


def test_rows_that_come_and_go_are_kept_in_place() -> None:
    kept = KeptStates(2)
    kept.clear(5)
    for position in range(5, 500):
        kept.put(position, np.full((1, 2), position, np.float32))
        kept.drop_before(position - 3)
        if position == 100:
            place = kept._rows
    assert kept._rows is place
    assert (kept.start, kept.end) == (496, 500)
    assert kept.between(497, 500)[:, 0].tolist() == [497.0, 498.0, 499.0]
