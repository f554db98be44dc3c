"""What jobs do that need the disk and the Hub; imported by the first of them, as it imports much."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from engine.budget.budget import Budget, BudgetQuestion
from engine.budget.estimated import estimate_of_entry
from engine.budget.held import Held, given_back, main_memory
from engine.bundles.verify import verify_bundle
from engine.desk.jobs import CancelToken
from engine.desk.offers import list_offers
from engine.desk.parts import Parts
from engine.errors import BadOption, SlipstreamError
from engine.folders import cache_folder
from engine.hub.drafters import facts_reader, find_drafters, judge_drafters
from engine.hub.listing import HubRepo, Quantisation
from engine.hub.remote_header import fetch_bundle_headers
from engine.hub.token import checked_token, read_token, write_token
from engine.models.catalogue import CatalogueEntry
from engine.models.description import Device
from engine.models_events import DraftersSuggested, LocalDrafter, OffersListed, Unreadable
from engine.models_service import BudgetRequest
from engine.recommend.advice import ComputerSpeed
from engine.recommend.advise import Computer
from engine.recommend.store import keep_speed, read_speed
from engine.shelf.checking import verify_installed
from engine.shelf.facts_cache import FactsCache
from engine.shelf.folders import read_folders
from engine.shelf.installed_model import InstalledModel
from engine.shelf.pairs import suggest_local
from engine.shelf.shelf import FACTS_FILE_NAME, read_shelf


def offer(
    job: int,
    parts: Parts,
    opened: Sequence[str],
    devices: Sequence[Device],
    held: Held,
    budgets: Mapping[str, Budget],
) -> OffersListed:
    """Return everything that is offered; `devices` (): llama.cpp could not be asked, only main memory is known."""
    speed = read_speed()
    shelf = read_shelf(opened=opened)
    computer = Computer(given_back(devices or (main_memory(),), held), speed)
    offers = list_offers(parts.entries, shelf.models, computer, budgets)
    unreadable = (Unreadable(str(one.path), one.sentence) for one in shelf.passed_over if one.is_unreadable)
    return OffersListed(job, offers, speed, read_folders(), tuple(unreadable))


def estimate(request: BudgetRequest, entry: CatalogueEntry, devices: Sequence[Device], held: Held) -> Budget:
    """Return what the catalogue's facts say about `entry`, for when its header cannot be had."""
    return estimate_of_entry(
        entry,
        given_back(devices or (main_memory(),), held),
        contexts=request.contexts,
        kv_types=request.kv_types,
        n_gpu_layers=request.n_gpu_layers,
        race=request.race,
    )


def question_of(request: BudgetRequest, held: Held, parts: Parts, token: CancelToken) -> BudgetQuestion:
    """Return `request` with files that llama.cpp can be asked about: headers alone of what is not here.

    Raises what fetch_bundle_headers raises, and BadOption for a request without a bundle.
    """
    if request.remote is not None:
        bundle = fetch_bundle_headers(
            request.remote,
            parts.headers_folder,
            token=read_token(),
            endpoint=parts.client.endpoint,
            is_cancelled=lambda: token.is_set,
            on_contact=parts.client.on_contact,
        )
    elif request.bundle is not None:
        bundle = request.bundle
    else:
        raise BadOption("There is no model to ask about.")
    return BudgetQuestion(
        bundle.target,
        bundle.drafter,
        request.contexts,
        request.kv_types,
        request.n_gpu_layers,
        request.rollback_tokens,
        request.race,
        held,
    )


def suggest(job: int, target: str, opened: Sequence[str]) -> DraftersSuggested:
    """Return what on this computer may draft for the file `target`; raises what reading its header raises."""
    cache = FactsCache(cache_folder() / FACTS_FILE_NAME)
    found = suggest_local(Path(target), read_shelf(opened=opened, cache=cache), cache.facts)
    drafters = tuple(
        LocalDrafter(
            one.choice,
            one.name,
            one.candidate.size_bytes if one.candidate is not None else 0,
            one.verdict.reason,
            one.verdict.remark,
        )
        for one in found
    )
    return DraftersSuggested(job, target, drafters)


def judge(parts: Parts, repo: HubRepo, quantisation: Quantisation, token: CancelToken) -> HubRepo:
    """Return `repo` with drafters from elsewhere too, each judged by its header; raises what the Hub's client does."""

    def is_cancelled() -> bool:
        return token.is_set

    more = find_drafters(repo, parts.client, parts.entries, is_cancelled)
    read = facts_reader(parts.headers_folder, parts.client, is_cancelled)
    return judge_drafters(more, quantisation, read, is_cancelled)


def verify(
    folder: Path,
    shelf: Sequence[InstalledModel],
    installed_id: str,
    tell: Callable[[float], None],
    token: CancelToken,
) -> str:
    """Return "" if the model is what it should be, else a sentence; raises Cancelled, BadOption for no such model."""
    model = next((one for one in shelf if one.id == installed_id), None)
    if model is None:
        # A file that was damaged beyond its header is on no shelf any more, but it was downloaded.
        return verify_bundle(folder, installed_id, tell, lambda: token.is_set)
    return verify_installed(model, tell, lambda: token.is_set)


def keep(speed: ComputerSpeed) -> None:
    """Remember what was measured; raises SlipstreamError."""
    try:
        keep_speed(speed)
    except OSError as error:
        raise SlipstreamError(
            "What was measured cannot be kept.",
            remedy="Free space on the disk, or check the permissions of its folder.",
            detail=str(error),
        ) from error


def change_token(parts: Parts, token: str) -> str:
    """Keep `token` and return whom the Hub knows by it, "" for none.

    Raises BadOption, TokenRefused and what the Hub's client raises: a mistyped token must not take the place of the one
    that every program uses.
    """
    user = parts.owner_of(checked_token(token))
    write_token(token)
    return user
