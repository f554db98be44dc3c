"""A drafter whose cache has lost what it had: no drafts until the target starts over, and no error."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from engine.speculation.block_draft import BlockDrafter
from engine.speculation.eagle3 import Eagle3Drafter
from engine.speculation.protocols import Drafter
from engine.speculation.round import DraftSource
from tests.engine.speculation.helpers import answer, tokens_of
from tests.engine.speculation.state_fakes import NumpyBlocks, NumpyHead, PublishingModel
from tests.numpy_models import markov_table

TABLE = markov_table(8, seed=4, sharpness=2.0)


@dataclass
class LosingHead(NumpyHead):
    """Loses every entry at the rewind after `lose_after` others."""

    lose_after: int = 1000

    def rewind(self, n_entries: int) -> int:
        self.lose_after -= 1
        left = super().rewind(n_entries)
        return left if self.lose_after else super().rewind(0)


@dataclass
class LosingBlocks(NumpyBlocks):
    """Does the same."""

    lose_after: int = 1000

    def rewind(self, n_entries: int) -> int:
        self.lose_after -= 1
        left = super().rewind(n_entries)
        return left if self.lose_after else super().rewind(0)


def made(kind: str, target: PublishingModel) -> tuple[Drafter, LosingHead | LosingBlocks]:
    if kind == "eagle3":
        head = LosingHead(target, TABLE, 300)
        return Eagle3Drafter(head, target, 8), head
    blocks = LosingBlocks(target, TABLE, 300)
    return BlockDrafter(blocks, target, 8, DraftSource.DFLASH), blocks


@pytest.mark.parametrize("kind", ["eagle3", "blocks"])
@pytest.mark.parametrize("lose_after", range(1, 12))
def test_lost_entries_cost_drafts_and_no_answer(kind: str, lose_after: int) -> None:
    target = PublishingModel(TABLE, 300)
    drafter, entries = made(kind, target)
    said = tokens_of(answer(target, [1, 2, 3], drafter=drafter, max_tokens=12))
    entries.lose_after = lose_after
    rounds = list(answer(target, [1, 2, 3, *said, 4], drafter=drafter, max_tokens=60))
    assert tokens_of(rounds) == tokens_of(
        answer(PublishingModel(TABLE, 300), [1, 2, 3, *said, 4], max_tokens=60)
    )
    # Lost before the prompt, they are made again from what the target shows of it.
    n_drafts = sum(1 for done in rounds if done.drafted)
    assert n_drafts > lose_after if lose_after == 1 else n_drafts <= lose_after
    entries.lose_after = 1000
    assert any(done.drafted for done in answer(target, [2, 1, 3], drafter=drafter, max_tokens=20))
