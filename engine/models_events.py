"""What the models' facade tells. Every job ends with exactly one event that bears its number."""

from __future__ import annotations

import msgspec

from engine.budget.budget import Budget
from engine.download.progress import DownloadProgress
from engine.hub.listing import HubPage, HubRepo
from engine.models.bundle import DrafterChoice
from engine.models.catalogue import CatalogueEntry
from engine.models.remote import RemoteBundle
from engine.recommend.advice import Advice, ComputerSpeed
from engine.shelf.installed_model import InstalledModel


class Offer(msgspec.Struct, frozen=True):
    """A bundle that can be had or is here: from the catalogue, from this computer, or both."""

    id: str
    name: str
    advice: Advice
    entry: CatalogueEntry | None = None
    installed: InstalledModel | None = None

    @property
    def remote(self) -> RemoteBundle | None:
        return self.entry.bundle if self.entry is not None else None


class Unreadable(msgspec.Struct, frozen=True):
    """A file on this computer that should be a model and is none; `sentence` says why."""

    path: str
    sentence: str


class OffersListed(msgspec.Struct, frozen=True):
    """Everything curated and installed: recommended ones first in their order, then the rest."""

    job: int
    offers: tuple[Offer, ...]
    speed: ComputerSpeed
    folders: tuple[str, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()


class LocalDrafter(msgspec.Struct, frozen=True):
    """A drafter for a model that is here. `reason` says why it does not fit, "" if it does; `remark` what speaks
    against one that fits.
    """

    choice: DrafterChoice
    name: str
    size_bytes: int = 0
    reason: str = ""
    remark: str = ""


class DraftersSuggested(msgspec.Struct, frozen=True):
    """What may draft for the file `target`: the best first, n-gram among them, what does not fit last."""

    job: int
    target: str
    drafters: tuple[LocalDrafter, ...]


class HubSearched(msgspec.Struct, frozen=True):
    job: int
    page: HubPage


class HubRepoOpened(msgspec.Struct, frozen=True):
    """A repository's page; its drafters bear reasons as far as headers were read."""

    job: int
    repo: HubRepo


class BudgetMade(msgspec.Struct, frozen=True):
    job: int
    budget: Budget


class MeasureProgress(msgspec.Struct, frozen=True):
    """`what` is measured, `fraction` 0 to 1 of all of it."""

    job: int
    what: str
    fraction: float


class ComputerMeasured(msgspec.Struct, frozen=True):
    job: int
    speed: ComputerSpeed


class DownloadChanged(msgspec.Struct, frozen=True):
    """A download went on; at most about four times a second for each, and at every change of state."""

    progress: DownloadProgress


class ModelRemoved(msgspec.Struct, frozen=True):
    job: int
    id: str
    freed_bytes: int


class ModelVerified(msgspec.Struct, frozen=True):
    """`sentence` is "" where every file is what it should be."""

    job: int
    id: str
    sentence: str = ""


class VerifyProgress(msgspec.Struct, frozen=True):
    job: int
    id: str
    fraction: float


class TokenChecked(msgspec.Struct, frozen=True):
    """`user` is whom the Hub knows by the token, "" if there is none."""

    job: int
    user: str


class FoldersChanged(msgspec.Struct, frozen=True):
    job: int
    folders: tuple[str, ...]


class ConnectionChanged(msgspec.Struct, frozen=True):
    """Whether the Hub answered last; being offline is a state, not an error."""

    is_online: bool


class ModelsFailed(msgspec.Struct, frozen=True):
    """A job ended with an error, or with kind "Cancelled"; the fields are those of SlipstreamError."""

    job: int
    kind: str
    sentence: str
    remedy: str = ""
    detail: str = ""


ModelsEvent = (
    OffersListed
    | HubSearched
    | HubRepoOpened
    | DraftersSuggested
    | BudgetMade
    | MeasureProgress
    | ComputerMeasured
    | DownloadChanged
    | ModelRemoved
    | ModelVerified
    | VerifyProgress
    | TokenChecked
    | FoldersChanged
    | ConnectionChanged
    | ModelsFailed
)
