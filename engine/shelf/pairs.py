"""What on this computer may draft for a model: everything that lies here, judged by both headers."""

from __future__ import annotations

from pathlib import Path

from engine.errors import SlipstreamError
from engine.models.facts import ModelFacts
from engine.models.suggestions import Candidate, Suggestion, suggest_drafters
from engine.shelf.listing import ReadFacts, Shelf


def suggest_local(target: Path, shelf: Shelf, read: ReadFacts) -> tuple[Suggestion, ...]:
    """Return drafters for `target`, the best first and what does not fit last; files that cannot be read are left out.

    `read` gives the facts of a header. Raises what it raises for `target`.
    """
    facts = read(target)
    paths = [Path(model.bundle.target) for model in shelf.models]
    paths += [Path(model.bundle.drafter.path) for model in shelf.models if model.bundle.drafter.path]
    paths += [passed.path for passed in shelf.passed_over if not passed.is_unreadable]
    others = (_readable(path, read) for path in dict.fromkeys(paths) if path != target)
    return suggest_drafters(_candidate(facts), [_candidate(one) for one in others if _can_draft(one)])


def _readable(path: Path, read: ReadFacts) -> ModelFacts | None:
    try:
        return read(path)
    except SlipstreamError:
        return None


def _can_draft(facts: ModelFacts | None) -> bool:
    return facts is not None and (facts.kind.can_answer or facts.kind.is_drafter_only)


def _candidate(facts: ModelFacts | None) -> Candidate:
    assert facts is not None
    path = Path(facts.path)
    return Candidate(path.stem, path.parent.as_posix(), facts)
