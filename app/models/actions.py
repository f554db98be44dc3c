"""Which button a model's detail offers first, and what stands beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from app.format import file_size
from app.models import words
from app.models.subject import Subject
from engine.download.progress import DownloadProgress
from engine.models.bundle import NGRAM_DRAFTER, Bundle, DrafterKind
from engine.models_events import LocalDrafter
from engine.recommend.advice import Fit


class Act(StrEnum):
    NONE = "none"
    DOWNLOAD = "download"
    LOAD = "load"
    COMPARE = "compare"


@dataclass(frozen=True, slots=True)
class Offered:
    """`primary` is the one coloured button; `note` says in a line what one should know before pressing it."""

    primary: Act
    verb: str = ""
    note: str = ""


WhyNot = Callable[[DrafterKind], str]
"""Why this build of llama.cpp cannot draft in a way, "" where it can."""


def offered(
    subject: Subject,
    download: DownloadProgress | None,
    why_not: WhyNot,
    *,
    is_loaded: bool,
    running: str = "",
) -> Offered:
    """Return what can be done with `subject`; while it is being downloaded, its own row has the buttons.

    `running` is what uses the loaded bundle now, in a word.
    """
    if subject.installed is not None:
        own, picked = subject.installed.bundle.drafter.kind, subject.picked_drafter.kind
        note = _substitute(why_not(own)) if picked in (own, DrafterKind.NGRAM) else ""
        if is_loaded:
            return Offered(Act.COMPARE, "Compare", note)
        stops = f"Loading it stops the {running} that is running." if running else ""
        return Offered(Act.LOAD, "Load", f"{stops} {note}".strip())
    if subject.lacks_model:
        return Offered(Act.NONE, note=_what_there_is(subject))
    if subject.remote is None or (download is not None and not download.state.is_over):
        return Offered(Act.NONE)
    size = f" {file_size(subject.size_bytes)}" if subject.size_bytes else ""
    return Offered(Act.DOWNLOAD, f"Download{size}", _download_note(subject, why_not))


_MOST_NAMED = 4


def _substitute(reason: str) -> str:
    """Return that n-gram stands in for a drafter, and why; "" where nothing has to."""
    return (
        f"Its drafter cannot run here: {reason}. Words seen before are guessed in its place."
        if reason
        else ""
    )


def _what_there_is(subject: Subject) -> str:
    """Return that there is no model, and what there is instead."""
    repo = subject.repo
    assert repo is not None
    drafters = [option.files[0].name for option in repo.drafters if option.files]
    others = [file.name for file in repo.other_files]
    said = "There is no model in this repository that Slipstream can load: it loads files in GGUF format."
    if drafters:
        return f"{said} It holds a drafter for another model: {', '.join(drafters[:_MOST_NAMED])}."
    return f"{said} It holds {', '.join(others[:_MOST_NAMED])}." if others else said


def _download_note(subject: Subject, why_not: WhyNot) -> str:
    advice = subject.advice
    if advice is not None and advice.fit is Fit.DOES_NOT_FIT:
        return f"{words.FIT_WORDS[advice.fit]} on this computer: {advice.fit_sentence}"
    return _substitute(why_not(subject.picked_drafter.kind))


def judged_here(drafters: Sequence[LocalDrafter], why_not: WhyNot) -> tuple[LocalDrafter, ...]:
    """Return `drafters` with the reason of those whose kind this build of llama.cpp cannot run."""
    return tuple(
        msgspec.structs.replace(one, reason=one.reason or words.cannot_run(why_not(one.choice.kind)))
        for one in drafters
    )


def loadable(bundle: Bundle, why_not: WhyNot) -> Bundle:
    """Return `bundle` with n-gram in the place of a drafter that cannot run here."""
    if not why_not(bundle.drafter.kind):
        return bundle
    return Bundle(bundle.name, bundle.target, NGRAM_DRAFTER)
