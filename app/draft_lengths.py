"""How far to guess ahead, remembered for each bundle: what suits one pair of models does not suit the next."""

from __future__ import annotations

import msgspec

from app.settings import RunSettings, Settings
from engine.models.bundle import Bundle

AUTO_WORDS = "Auto"
_MOST_KEPT = 100


def bundle_key(bundle: Bundle) -> str:
    """Return what names `bundle` in the settings: its files and how it drafts."""
    drafter = bundle.drafter
    return " + ".join((bundle.target, drafter.kind.value, drafter.path, "ngram" * drafter.with_ngram))


def draft_length_of(settings: Settings, bundle: Bundle | None) -> int | None:
    """Return the draft length chosen for `bundle`, None for auto; that of all others where it has none of its own."""
    if bundle is None:
        return settings.run.draft_length
    return settings.draft_lengths.get(bundle_key(bundle), settings.run.draft_length)


def with_draft_length(settings: Settings, bundle: Bundle, length: int | None) -> dict[str, int | None]:
    """Return the draft lengths with that of `bundle` as the newest; the oldest are forgotten."""
    key = bundle_key(bundle)
    others = [(name, kept) for name, kept in settings.draft_lengths.items() if name != key]
    return dict((*others[1 - _MOST_KEPT :], (key, length)))


def run_settings_of(settings: Settings, bundle: Bundle | None) -> RunSettings:
    """Return the options of a run of `bundle`."""
    return msgspec.structs.replace(settings.run, draft_length=draft_length_of(settings, bundle))


def changes_for(settings: Settings, bundle: Bundle | None, run: RunSettings) -> dict[str, object]:
    """Return the fields of the settings that change when the options row of `bundle` says `run`."""
    if bundle is None:
        return {"run": run}
    if run.draft_length == draft_length_of(settings, bundle):
        lengths = settings.draft_lengths
    else:
        lengths = with_draft_length(settings, bundle, run.draft_length)
    shared = msgspec.structs.replace(run, draft_length=settings.run.draft_length)
    return {"run": shared, "draft_lengths": lengths}


def draft_length_words(length: int | None) -> str:
    """Return "Auto" or the number."""
    return AUTO_WORDS if length is None else str(length)
