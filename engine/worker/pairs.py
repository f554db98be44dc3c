"""Refusing a pair before anything of it is loaded: llama.cpp aborts on some wrong ones, and takes others in silence."""

from __future__ import annotations

from pathlib import Path

from engine.errors import PairUnfit, WrongKindOfFile
from engine.models.bundle import DrafterChoice, DrafterKind
from engine.models.facts import read_facts
from engine.models.file_kind import drafter_kind
from engine.models.model_file import ModelRole, check_model_file
from engine.models.pairing import judge, judge_head_inside


def require_pair(target: str, drafter: DrafterChoice) -> None:
    """Raise unless `target` is a model and `drafter` is for it.

    Raises FileGone, NotAModelFile, UnknownArchitecture or WrongKindOfFile for what is wrong with one file, and
    PairUnfit with the reason where the two do not go together.
    """
    check_model_file(Path(target), ModelRole.TARGET)
    if not drafter.kind.has_weights:
        return
    if drafter.path:
        _require_kind(Path(drafter.path), drafter.kind)
    facts = read_facts(Path(target))
    verdict = judge(facts, read_facts(Path(drafter.path))) if drafter.path else judge_head_inside(facts)
    if not verdict.fits:
        raise PairUnfit(
            f"This drafter does not fit the target: {verdict.reason}.", remedy=_other(drafter.kind)
        )


def _require_kind(path: Path, kind: DrafterKind) -> None:
    role = ModelRole.DRAFT_MODEL if kind is DrafterKind.MODEL else ModelRole.DRAFTER
    file = check_model_file(path, role)
    if drafter_kind(file.kind) is not kind:
        raise WrongKindOfFile(
            f"“{path.name}” is {file.kind.phrase}, not a drafter of the kind {kind}.",
            remedy=f"Use it as a drafter of the kind {drafter_kind(file.kind)}.",
            detail=str(path),
        )


def _other(kind: DrafterKind) -> str:
    is_model = kind is DrafterKind.MODEL
    other = "a smaller model of the same family" if is_model else "the drafter that was made for it"
    return f"Choose {other}, or n-gram lookup, which fits every model."
