"""Which button a model's detail offers first, and what stands beside it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.format import file_size
from app.models import words
from app.models.subject import Subject
from engine.download.progress import DownloadProgress
from engine.models.bundle import NGRAM_DRAFTER, RUNNABLE_DRAFTERS, Bundle, DrafterKind
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


def offered(
    subject: Subject, download: DownloadProgress | None, *, is_loaded: bool, running: str = ""
) -> Offered:
    """Return what can be done with `subject`; while it is being downloaded, its own row has the buttons.

    `running` is what uses the loaded bundle now, in a word.
    """
    if subject.installed is not None:
        is_substitute = not subject.installed.bundle.drafter.can_run
        is_wanted = subject.picked_drafter.kind not in (DrafterKind.NONE, DrafterKind.MODEL)
        note = _DRAFTER_NOTE if is_substitute and is_wanted else ""
        if is_loaded:
            return Offered(Act.COMPARE, "Compare", note)
        stops = f"Loading it stops the {running} that is running." if running else ""
        return Offered(Act.LOAD, "Load", f"{stops} {note}".strip())
    if subject.lacks_model:
        return Offered(Act.NONE, note=_what_there_is(subject))
    if subject.remote is None or (download is not None and not download.state.is_over):
        return Offered(Act.NONE)
    size = f" {file_size(subject.size_bytes)}" if subject.size_bytes else ""
    return Offered(Act.DOWNLOAD, f"Download{size}", _download_note(subject))


_MOST_NAMED = 4
_DRAFTER_NOTE = "Its drafter cannot be used for answers yet: words seen before are guessed in its place."


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


def _download_note(subject: Subject) -> str:
    advice = subject.advice
    if advice is not None and advice.fit is Fit.DOES_NOT_FIT:
        return f"{words.FIT_WORDS[advice.fit]} on this computer: {advice.fit_sentence}"
    if subject.picked_drafter.kind not in RUNNABLE_DRAFTERS:
        return _DRAFTER_NOTE
    return ""


def loadable(bundle: Bundle) -> Bundle:
    """Return `bundle` with n-gram in the place of a drafter that cannot run yet."""
    if bundle.drafter.can_run:
        return bundle
    return Bundle(bundle.name, bundle.target, NGRAM_DRAFTER)
