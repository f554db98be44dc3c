"""A bundle: what a person chooses. A target file and the drafter that goes with it."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class DrafterKind(StrEnum):
    """How drafts are made."""

    NONE = "none"
    NGRAM = "ngram"
    MODEL = "model"


class DrafterChoice(msgspec.Struct, frozen=True):
    """Which drafter; `path` is the draft model's file when `kind` is MODEL, else empty."""

    kind: DrafterKind = DrafterKind.NGRAM
    path: str = ""


NO_DRAFTER = DrafterChoice(DrafterKind.NONE)
NGRAM_DRAFTER = DrafterChoice(DrafterKind.NGRAM)


class Bundle(msgspec.Struct, frozen=True):
    """A target file and its drafter; `name` is what lists show."""

    name: str
    target: str
    drafter: DrafterChoice = NGRAM_DRAFTER
