"""The rows of the list, made from what is known: sections, bundles, repositories, and notes between them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.format import count, share
from app.models import words
from app.models.hub import HubState
from app.models.state import ModelsState
from engine.download.progress import DownloadProgress, DownloadState
from engine.hub.listing import HubModel
from engine.models_events import Offer
from engine.recommend.advice import Fit

CURATED = "Chosen for you"
INSTALLED = "On this computer"
HUB = "From the Hub"
MOST_RANKED = 3
SEARCH_AGAIN = "search-again"
SHOW_ALL = "show-all"
UNREADABLE = "unreadable"
MOST_CURATED = 10
"""So many of the catalogue, until all are asked for: what is on this computer is not to be far below."""


class RowKind(StrEnum):
    HEADER = "header"
    OFFER = "offer"
    REPO = "repo"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Row:
    """One row. `key` is an offer's id, a repository, or what a note does when it is pressed; `rank` 0: none."""

    kind: RowKind
    key: str
    title: str
    second: str = ""
    third: str = ""
    fit: Fit = Fit.UNKNOWN
    drafter: str = ""
    rank: int = 0
    tip: str = ""

    @property
    def can_be_chosen(self) -> bool:
        return self.kind in (RowKind.OFFER, RowKind.REPO) or bool(self.kind is RowKind.NOTE and self.key)

    @property
    def spoken(self) -> str:
        """Return what a screen reader says of the row."""
        rank = f"recommended, number {self.rank}" if self.rank else ""
        drafter = f"drafter: {self.drafter}" if self.drafter else ""
        parts = (self.title, rank, self.second, self.third, words.FIT_WORDS[self.fit], drafter)
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Filter:
    """What is left out. `text` is looked for in names and in what they are good at; sizes in parameters, 0: any.

    `whole` shows all of the catalogue, as any text does; `keep` is the row that is chosen, which never goes.
    """

    text: str = ""
    only_fitting: bool = False
    only_drafted: bool = False
    params: tuple[int, int] = (0, 0)
    whole: bool = False
    keep: str = ""

    def takes(self, offer: Offer) -> bool:
        if self.only_fitting and offer.advice.fit is Fit.DOES_NOT_FIT:
            return False
        if self.only_drafted and not has_drafter(offer):
            return False
        n_params = _n_params(offer)
        least, most = self.params
        if n_params and ((least and n_params < least) or (most and n_params > most)):
            return False
        hay = _searched_text(offer)
        return all(word in hay for word in self.text.lower().split())


def has_drafter(offer: Offer) -> bool:
    """Whether a drafter with weights of its own comes with it."""
    own = offer.installed.bundle.drafter.kind if offer.installed else None
    listed = offer.entry.bundle.drafter_kind if offer.entry else None
    return any(kind is not None and kind.has_weights for kind in (own, listed))


def rows_of(state: ModelsState, hub: HubState, wanted: Filter) -> tuple[Row, ...]:
    """Return all rows in order: curated ones, what is on this computer, the Hub."""
    shown = [offer for offer in state.offers if wanted.takes(offer)]
    curated = [offer for offer in shown if offer.installed is None or _is_ranked(offer)]
    curated.sort(key=lambda offer: offer.advice.rank if _is_ranked(offer) else MOST_RANKED + 1)
    installed = [offer for offer in shown if offer not in curated]
    rows: list[Row] = []
    if curated:
        rows += [Row(RowKind.HEADER, CURATED, CURATED), *_curated_rows(curated, state, wanted)]
    if installed or state.unreadable:
        rows.append(Row(RowKind.HEADER, INSTALLED, INSTALLED))
        rows += [_offer_row(offer, state) for offer in installed]
    if state.unreadable:
        said = f"{count(len(state.unreadable), 'file')} could not be read"
        rows.append(Row(RowKind.NOTE, UNREADABLE, said, tip="Press to see which, and why"))
    if not state.is_listed:
        rows.append(Row(RowKind.NOTE, "", "Looking at what there is and what fits…"))
    elif not shown:
        nothing = "Nothing here matches." if state.offers else "No model is here yet."
        rows.append(Row(RowKind.NOTE, "", nothing))
    rows.append(Row(RowKind.HEADER, HUB, HUB))
    return (*rows, *_hub_rows(state, hub))


def _is_ranked(offer: Offer) -> bool:
    return 0 < offer.advice.rank <= MOST_RANKED


def _curated_rows(curated: list[Offer], state: ModelsState, wanted: Filter) -> list[Row]:
    """Return the first of them, the one that is chosen, and how many there are beyond."""
    n_shown = len(curated)
    if not (wanted.whole or wanted.text) and n_shown > MOST_CURATED + 1:
        n_shown = MOST_CURATED
    kept = [offer for i, offer in enumerate(curated) if i < n_shown or offer.id == wanted.keep]
    rows = [_offer_row(offer, state) for offer in kept]
    if len(kept) < len(curated):
        rows.append(Row(RowKind.NOTE, SHOW_ALL, f"Show {len(curated) - len(kept)} more"))
    return rows


def _hub_rows(state: ModelsState, hub: HubState) -> list[Row]:
    coming = {one.bundle.target[0].repo: one for one in state.downloads.values() if one.bundle.target}
    rows = [_repo_row(model, coming.get(model.repo)) for model in hub.models]
    if not hub.has_query:
        hint = "Type a name to search the Hugging Face Hub, or “owner/” for what one owner has."
        return [Row(RowKind.NOTE, "", hint if state.is_online else f"You are offline. {hint}")]
    if hub.trouble is not None:
        again = f"{hub.trouble.sentence} Press here to search again."
        rows.append(Row(RowKind.NOTE, SEARCH_AGAIN, again, tip=hub.trouble.remedy))
    elif hub.is_searching:
        rows.append(Row(RowKind.NOTE, "", "Searching for more…" if rows else "Searching the Hub…"))
    elif not rows:
        rows.append(Row(RowKind.NOTE, "", f"The Hub has nothing for “{_asked(hub)}” with these filters."))
    return rows


def _asked(hub: HubState) -> str:
    """Return what was searched for, as it was typed."""
    author, text = hub.query.author, hub.query.text
    return f"{author}/{text}" if author else text


def _offer_row(offer: Offer, state: ModelsState) -> Row:
    advice, entry, installed = offer.advice, offer.entry, offer.installed
    kind = installed.bundle.drafter.kind if installed else entry.bundle.drafter_kind if entry else None
    good_at = entry.good_at if entry else words.place_words(installed.place) if installed else ""
    size = installed.size_bytes if installed else entry.bundle.size_bytes if entry else 0
    rough = entry.target_bytes + entry.drafter_bytes if entry and not size else 0
    size_words = f"≈ {words.size_words(rough)}" if rough else words.size_words(size)
    under_way = state.downloads.get(offer.remote.id) if offer.remote else None
    speed = words.speed_words(words.best_speed(advice))
    here = "here" if installed and _is_ranked(offer) else ""
    third = download_words(under_way) or " · ".join(part for part in (here, size_words, speed) if part)
    return Row(
        RowKind.OFFER,
        offer.id,
        offer.name,
        second=good_at,
        third=third,
        fit=advice.fit,
        drafter=words.drafter_badge(kind) if kind else "",
        rank=advice.rank if advice.rank <= MOST_RANKED else 0,
        tip="\n\n".join(
            part
            for part in (offer.name, advice.fit_sentence, words.speed_basis(advice, state.speed, kind))
            if part
        ),
    )


def download_words(progress: DownloadProgress | None) -> str:
    """Return what a row says of a download that is not over, "" if there is none."""
    if progress is None or progress.state.is_over:
        return ""
    if progress.state is DownloadState.FAILED:
        return "Download failed"
    verb = {DownloadState.PAUSED: "Paused", DownloadState.STALLED: "Stalled"}.get(
        progress.state, "Downloading"
    )
    return f"{verb} · {share(progress.fraction)} of {words.size_words(progress.size_bytes)}"


def _repo_row(model: HubModel, under_way: DownloadProgress | None) -> Row:
    about = [f"by {model.author}"]
    if model.n_params:
        about.append(f"{model.n_params / 1e9:.3g} billion weights")
    facts = [count(model.downloads, "download")] if model.downloads else []
    if model.licence:
        facts.append(model.licence)
    if model.gate:
        facts.append("asks for consent")
    drafter = "Drafter" if model.drafter_files else ""
    tip = "\n".join((model.repo, *(f"Drafter: {name}" for name in model.drafter_files[:4])))
    return Row(
        RowKind.REPO,
        model.repo,
        model.name,
        " · ".join(about),
        download_words(under_way) or " · ".join(facts),
        drafter=drafter,
        tip=tip,
    )


def _n_params(offer: Offer) -> int:
    if offer.entry is not None and offer.entry.n_params:
        return offer.entry.n_params
    return offer.installed.n_params if offer.installed else 0


def _searched_text(offer: Offer) -> str:
    entry, installed = offer.entry, offer.installed
    parts = [offer.name]
    if entry is not None:
        parts += [entry.good_at, entry.bundle.licence, words.drafter_badge(entry.bundle.drafter_kind)]
        parts += [file.repo for file in entry.bundle.target[:1]]
    if installed is not None:
        parts += [installed.architecture, installed.quantisation, installed.bundle.target]
    return " ".join(parts).lower()
