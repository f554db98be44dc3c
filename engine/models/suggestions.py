"""Which drafters to offer for a target, the most promising first, and those that do not fit last, with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from engine.models.bundle import DrafterChoice, DrafterKind
from engine.models.drafter_names import drafter_named
from engine.models.facts import ModelFacts
from engine.models.file_kind import FileKind
from engine.models.pairing import NGRAM_FITS, PairVerdict, judge, judge_head_inside
from engine.models.quantisation import bits_of, parse_quantisation
from engine.models.remote import RemoteFile

_WORD: Final = re.compile(r"[a-z]+|\d+(?:\.\d+)?")


class Candidate(msgspec.Struct, frozen=True):
    """A file that might draft, or the target itself, here or on the Hub.

    `folder` is where it lies: "owner/name" and the folder in that repository, or a folder of this computer, with "/".
    `facts` None: its header was not read. `files` are those to download, () for one that is here.
    """

    name: str
    folder: str
    facts: ModelFacts | None = None
    files: tuple[RemoteFile, ...] = ()

    @property
    def kind(self) -> DrafterKind:
        """Return how it drafts; as long as its header was not read, what names propose: MODEL where they are mute."""
        if self.facts is not None:
            return self.facts.drafter_kind
        file = self.files[0] if self.files else RemoteFile("", self.name)
        named = drafter_named(file.path, file.repo)
        return DrafterKind.MODEL if named is DrafterKind.NONE else named

    @property
    def quantisation(self) -> str:
        return self.facts.quantisation if self.facts is not None else parse_quantisation(self.name)

    @property
    def size_bytes(self) -> int:
        return (
            self.facts.file_bytes if self.facts is not None else sum(file.size_bytes for file in self.files)
        )


class Suggestion(msgspec.Struct, frozen=True):
    """One drafter to offer. `candidate` is None for n-gram and a head inside the target."""

    name: str
    verdict: PairVerdict
    candidate: Candidate | None = None

    @property
    def choice(self) -> DrafterChoice:
        """Return what a bundle calls it; the path is that of the file whose header was read."""
        facts = self.candidate.facts if self.candidate is not None else None
        return DrafterChoice(self.verdict.kind, facts.path if facts is not None else "")


def suggest_drafters(target: Candidate, candidates: Iterable[Candidate]) -> tuple[Suggestion, ...]:
    """Return what may draft for `target`, which must have facts: never nothing, for n-gram needs no file.

    First what fits and can be run, the nearest to the target and the smallest first; then n-gram; then what fits but
    cannot be run in this version or will hardly be faster; last what does not fit.
    """
    facts = target.facts
    if facts is None:
        raise ValueError("a target without facts cannot be judged")
    found = [Suggestion("n-gram", NGRAM_FITS)]
    if facts.kind is FileKind.TARGET_WITH_MTP:
        found.append(Suggestion("MTP head inside the model", judge_head_inside(facts)))
    found += [Suggestion(c.name, _verdict(facts, c), c) for c in candidates]
    return tuple(sorted(found, key=lambda suggestion: _order(target, suggestion)))


def _verdict(target: ModelFacts, candidate: Candidate) -> PairVerdict:
    if candidate.facts is not None:
        return judge(target, candidate.facts)
    return PairVerdict(candidate.kind, fits=True, remark="not checked yet: its header was not read")


def _order(target: Candidate, suggestion: Suggestion) -> tuple[int, float, int, int, str]:
    verdict, candidate = suggestion.verdict, suggestion.candidate
    if verdict.kind is DrafterKind.NGRAM:
        group = 1
    elif not verdict.fits:
        group = 3
    else:
        group = 2 if verdict.remark else 0
    if candidate is None:
        return group, 0, 0, 0, ""
    bits = abs(bits_of(candidate.quantisation) - bits_of(target.quantisation))
    return group, _distance(target, candidate), bits, candidate.size_bytes, candidate.name


def _distance(target: Candidate, candidate: Candidate) -> float:
    """Return how far a candidate is from the target: beside it, made for it by name, of its family, anything else."""
    if is_beside(target.folder, candidate.folder):
        return 0
    ours, theirs = _names(target), _names(candidate)
    if ours & theirs:
        return 1
    return 2 - _likeness(target.name, candidate.name)


def is_beside(folder: str, other: str) -> bool:
    """Whether `other` is the target's `folder`, a folder above it in the repository, or their `MTP/`."""
    trunk = other.rsplit("/", 1)[0] if other.casefold().endswith("/mtp") else other
    return folder == trunk or folder.startswith(f"{trunk}/")


def _names(candidate: Candidate) -> frozenset[str]:
    facts = candidate.facts
    if facts is None:
        return frozenset()
    names = (facts.name, *(name.rsplit("/", 1)[-1] for name in facts.base_models))
    return frozenset("".join(_WORD.findall(name.lower())) for name in names if name)


def _likeness(first: str, second: str) -> float:
    """Return which share of the words that two names begin with they have in common, 0 to 1."""
    ours, theirs = _WORD.findall(first.lower()), _WORD.findall(second.lower())
    same = next(
        (i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs))
    )
    return same / max(len(ours), len(theirs), 1)
