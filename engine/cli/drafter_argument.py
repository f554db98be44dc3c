"""What `--drafter` means: once a file, a name, mtp, ngram, auto or none; twice n-gram beside one that has weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.errors import BadOption, SlipstreamError
from engine.models.bundle import NGRAM_DRAFTER, NO_DRAFTER, DrafterChoice, DrafterKind
from engine.models.facts import read_facts
from engine.models.file_kind import classify, drafter_kind
from engine.models.gguf_header import read_header
from engine.shelf.pairs import suggest_local
from engine.shelf.shelf import read_shelf

AUTO: Final = "auto"
MTP: Final = "mtp"
NGRAM: Final = "ngram"
NONE: Final = "none"

FindFile = Callable[[str], str]
SuggestBest = Callable[[str], DrafterChoice]


@dataclass(frozen=True, slots=True)
class TypedDrafter:
    """What was typed: `what` is mtp, ngram, auto, none, or a file or name; "" is nothing at all.

    `with_ngram`: n-gram was asked for beside it.
    """

    what: str = ""
    with_ngram: bool = False

    @property
    def is_typed(self) -> bool:
        return self.what != ""


def parse_drafters(values: Sequence[str] | None) -> TypedDrafter:
    """Return what the values of `--drafter` ask for; raises BadOption for what cannot go together."""
    if not values:
        return TypedDrafter()
    if not all(values):
        raise BadOption("The drafter must be a file, a name, “mtp”, “ngram”, “auto” or “none”.")
    others = [value for value in values if value != NGRAM]
    if len(values) == 1:
        return TypedDrafter(values[0])
    if len(values) > 2 or len(others) != 1 or others[0] == NONE:
        raise BadOption(
            "Two drafters are “ngram” and one other: a file, a name, “mtp” or “auto”.",
            remedy="For example: --drafter ngram --drafter draft.gguf",
        )
    return TypedDrafter(others[0], with_ngram=True)


def settle_drafter(
    typed: TypedDrafter,
    target: str,
    default: DrafterChoice,
    find_file: FindFile,
    suggest: SuggestBest | None = None,
) -> DrafterChoice:
    """Return the drafter for the file `target`: `default` where nothing was typed.

    The kind of a file comes from its header; one that cannot be read is left to the checks of files, which say what is
    wrong with it. `auto` is the best that is there: `default` if that has weights, else what `suggest` finds. Raises
    what `find_file` raises.
    """
    if not typed.is_typed:
        return default
    if typed.what == AUTO:
        found = default if default.kind.has_weights else (suggest or best_here)(target)
        # The controller asks whichever pays, and n-gram costs nothing.
        return _with_ngram(found)
    settled = _named(typed.what, find_file)
    return _with_ngram(settled) if typed.with_ngram else settled


def best_here(target: str) -> DrafterChoice:
    """Return the best drafter on this computer that fits `target` and can run here; n-gram where there is none.

    A target that cannot be read is left to the checks of files.
    """
    try:
        found = suggest_local(Path(target), read_shelf(), read_facts)
    except SlipstreamError:
        return NGRAM_DRAFTER
    return next((one.choice for one in found if one.verdict.fits and not one.verdict.remark), NGRAM_DRAFTER)


def _named(what: str, find_file: FindFile) -> DrafterChoice:
    without_file = {NGRAM: NGRAM_DRAFTER, NONE: NO_DRAFTER, MTP: DrafterChoice(DrafterKind.MTP)}
    if what in without_file:
        return without_file[what]
    path = find_file(what)
    return DrafterChoice(_kind_of(path), path)


def _kind_of(path: str) -> DrafterKind:
    try:
        kind = drafter_kind(classify(read_header(Path(path))))
    except (SlipstreamError, ValueError):
        return DrafterKind.MODEL
    return DrafterKind.MODEL if kind is DrafterKind.NONE else kind


def _with_ngram(choice: DrafterChoice) -> DrafterChoice:
    return DrafterChoice(choice.kind, choice.path, with_ngram=choice.kind.has_weights)
