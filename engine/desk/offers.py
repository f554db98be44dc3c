"""What is offered: the catalogue and what is here, each with what can be expected of it on this computer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.budget.budget import Budget
from engine.models.catalogue import CatalogueEntry
from engine.models_events import Offer
from engine.recommend.advise import Computer, recommend
from engine.recommend.store import OwnFigures, own_figures
from engine.recommend.subject import Subject
from engine.recommend.subjects import subject_of_entry, subjects_of_installed
from engine.shelf.installed_model import InstalledModel


def list_offers(
    entries: Sequence[CatalogueEntry],
    shelf: Sequence[InstalledModel],
    computer: Computer,
    budgets: Mapping[str, Budget],
) -> tuple[Offer, ...]:
    """Return an offer for each entry and each model that is here; one that came from an entry is a single offer.

    Recommended ones come first, in their order. `budgets` are those that llama.cpp was asked for already, by id.
    """
    from_entry = {model.remote_id: model for model in shelf if model.remote_id}
    by_id = {entry.bundle.id: entry for entry in entries}
    others = [model for model in shelf if model.remote_id not in by_id]
    subjects: list[Subject] = [subject_of_entry(entry) for entry in entries]
    subjects += subjects_of_installed(others)
    figures = _figures({id_: model for id_, model in from_entry.items() if id_ in by_id}, others)
    known = {model.id: model for model in others}
    return tuple(
        Offer(
            id=advice.id,
            name=_name(by_id.get(advice.id), known.get(advice.id)),
            advice=advice,
            entry=by_id.get(advice.id),
            installed=from_entry.get(advice.id) if advice.id in by_id else known.get(advice.id),
        )
        for advice in recommend(subjects, computer, figures, budgets)
    )


def _figures(
    downloaded: Mapping[str, InstalledModel], others: Sequence[InstalledModel]
) -> dict[str, OwnFigures]:
    here = {**downloaded, **{model.id: model for model in others}}
    return {id_: own_figures(model.bundle) for id_, model in here.items()}


def _name(entry: CatalogueEntry | None, installed: InstalledModel | None) -> str:
    if entry is not None:
        return entry.bundle.name
    return installed.bundle.name if installed is not None else ""
