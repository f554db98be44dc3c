"""Which of the drafters that lie beside a target goes with it."""

from __future__ import annotations

from collections.abc import Sequence

from engine.models.bundle import NGRAM_DRAFTER, DrafterChoice, DrafterKind
from engine.models.facts import ModelFacts
from engine.models.file_kind import FileKind


def choose_drafter(target: ModelFacts, drafters: Sequence[ModelFacts]) -> DrafterChoice:
    """Return the best of `drafters` that fits `target`, else the head inside it, else n-gram."""
    for drafter in drafters:
        if drafter.drafter.target_hidden_size in (0, target.n_embd) and drafter.kind.is_drafter_only:
            return DrafterChoice(drafter.drafter_kind, drafter.path)
    if target.kind is FileKind.TARGET_WITH_MTP:
        return DrafterChoice(DrafterKind.MTP)
    return NGRAM_DRAFTER
