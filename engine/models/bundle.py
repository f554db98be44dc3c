"""A bundle: what a person chooses. A target file and the drafter that goes with it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec


class DrafterKind(StrEnum):
    """How drafts are made."""

    NONE = "none"
    NGRAM = "ngram"
    MODEL = "model"
    MTP = "mtp"
    EAGLE3 = "eagle3"
    DFLASH = "dflash"
    DSPARK = "dspark"

    @property
    def has_weights(self) -> bool:
        """Whether it takes memory of its own."""
        return self not in (DrafterKind.NONE, DrafterKind.NGRAM)

    @property
    def rolls_back(self) -> bool:
        """Whether llama.cpp is to keep snapshots of a target's running state, one for each token of a draft."""
        return self is not DrafterKind.NONE


ROLLBACK_TOKENS: Final = 8
"""Tokens of a draft that a running state can be rolled back over, where the architecture allows it.

It takes the state's memory once for each. After a longer draft that is not accepted whole the target evaluates what was
accepted again, from a state that was set aside.
"""


class DrafterChoice(msgspec.Struct, frozen=True):
    """Which drafter; `path` is the drafter's file. It is empty for NONE, NGRAM and an MTP head inside the target.

    `with_ngram`: n-gram lookup runs beside a drafter with weights, and is asked first.
    """

    kind: DrafterKind = DrafterKind.NGRAM
    path: str = ""
    with_ngram: bool = False

    @property
    def has_ngram(self) -> bool:
        """Whether n-gram lookup drafts, alone or beside another drafter."""
        return self.kind is DrafterKind.NGRAM or (self.with_ngram and self.kind.has_weights)


NO_DRAFTER = DrafterChoice(DrafterKind.NONE)
NGRAM_DRAFTER = DrafterChoice(DrafterKind.NGRAM)


class Bundle(msgspec.Struct, frozen=True):
    """A target file and its drafter; `name` is what lists show."""

    name: str
    target: str
    drafter: DrafterChoice = NGRAM_DRAFTER
