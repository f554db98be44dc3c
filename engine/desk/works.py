"""What jobs do that need the disk and the Hub; imported by the first of them, as it imports much."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from engine.budget.budget import Budget
from engine.budget.held import Held, given_back, main_memory
from engine.desk.jobs import CancelToken
from engine.desk.offers import list_offers
from engine.desk.parts import Parts
from engine.download.remove import verify_bundle
from engine.errors import SlipstreamError
from engine.hub.drafters import facts_reader, find_drafters, judge_drafters
from engine.hub.listing import HubRepo, Quantisation
from engine.hub.token import checked_token, write_token
from engine.models.description import Device
from engine.models_events import OffersListed
from engine.recommend.advice import ComputerSpeed
from engine.recommend.advise import Computer
from engine.recommend.store import keep_speed, read_speed
from engine.shelf.checking import verify_installed
from engine.shelf.folders import read_folders
from engine.shelf.installed_model import InstalledModel


def offer(
    job: int,
    parts: Parts,
    shelf: Sequence[InstalledModel],
    devices: Sequence[Device],
    held: Held,
    budgets: Mapping[str, Budget],
) -> OffersListed:
    """Return everything that is offered; `devices` (): llama.cpp could not be asked, only main memory is known."""
    speed = read_speed()
    computer = Computer(given_back(devices or (main_memory(),), held), speed)
    return OffersListed(job, list_offers(parts.entries, shelf, computer, budgets), speed, read_folders())


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
