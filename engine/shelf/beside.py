"""Which of the drafters that lie beside a target goes with it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from engine.models.bundle import NGRAM_DRAFTER, DrafterChoice, DrafterKind
from engine.models.facts import ModelFacts
from engine.models.suggestions import Candidate, suggest_drafters
from engine.models.vocabulary_match import MAX_SIZE_DIFFERENCE


def choose_drafter(target: ModelFacts, drafters: Iterable[ModelFacts]) -> DrafterChoice:
    """Return the best of `drafters` that fits `target`, a head inside it included; n-gram where there is none."""
    likely = [_candidate(drafter) for drafter in drafters if _may_fit(target, drafter)]
    for suggestion in suggest_drafters(_candidate(target), likely):
        verdict = suggestion.verdict
        if verdict.fits and not verdict.remark and verdict.kind is not DrafterKind.NGRAM:
            return suggestion.choice
    return NGRAM_DRAFTER


def _may_fit(target: ModelFacts, drafter: ModelFacts) -> bool:
    """Whether numbers alone do not rule a pair out: comparing vocabularies token by token means reading two files."""
    same_width = drafter.drafter.target_hidden_size in (0, target.n_embd)
    return same_width and abs(target.n_vocab - drafter.n_vocab) <= MAX_SIZE_DIFFERENCE


def _candidate(facts: ModelFacts) -> Candidate:
    path = Path(facts.path)
    return Candidate(path.name, path.parent.as_posix(), facts)
