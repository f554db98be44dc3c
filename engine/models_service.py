"""The facade for models: what there is, what is here, what it would take, and what is on its way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from engine.budget.budget import KvType
from engine.hub.listing import HubQuery, HubRepo, Quantisation
from engine.models.bundle import ROLLBACK_TOKENS, Bundle
from engine.models.remote import RemoteBundle
from engine.models_events import ModelsEvent


class BudgetRequest(msgspec.Struct, frozen=True):
    """A bundle, here or on the Hub, and how it would be loaded; the fields are those of BudgetQuestion."""

    bundle: Bundle | None = None
    remote: RemoteBundle | None = None
    contexts: tuple[int, ...] = ()
    kv_types: tuple[KvType, ...] = (KvType.F16,)
    n_gpu_layers: int = -1
    rollback_tokens: int = ROLLBACK_TOKENS
    race: bool = False


class ModelsService(Protocol):
    """What the window may ask about models. No method blocks; events come on threads of the service.

    A method that returns a number starts a job; an event with that number ends it.
    """

    def start(self, on_event: Callable[[ModelsEvent], None]) -> None:
        """Begin; downloads that were running when Slipstream ended go on, others come back as they stood."""

    def stop(self, timeout_s: float = 1.0) -> None:
        """End every thread; downloads can be resumed the next time."""

    def cancel(self, job: int) -> None: ...

    def list_offers(self) -> int:
        """OffersListed follows: at once what the catalogue and this computer's files say."""

    def search(self, query: HubQuery, cursor: str = "") -> int:
        """HubSearched follows; `cursor` from the page before fetches the next one."""

    def open_repo(self, repo: str) -> int:
        """HubRepoOpened follows."""

    def judge_drafters(self, repo: HubRepo, quantisation: Quantisation) -> int:
        """HubRepoOpened follows, with more drafters, each judged for this target by its header."""

    def suggest_drafters(self, target: str) -> int:
        """DraftersSuggested follows: every file on this computer that might draft for the file `target`, judged by
        both headers.
        """

    def budget(self, request: BudgetRequest) -> int:
        """BudgetMade follows. For a remote bundle the headers are fetched first, a few megabytes."""

    def note_loaded(self, worker_pid: int, memory_bytes: Mapping[str, int]) -> None:
        """Say what is loaded, by device: it is given back when something else is loaded. {}: nothing is."""

    def remember_race(
        self, bundle: Bundle, plain_tokens_per_s: float, speculative_tokens_per_s: float
    ) -> None:
        """Keep what a whole comparison reached here; it takes the place of forecasts."""

    def measure(self) -> int:
        """Measure this computer; MeasureProgress and ComputerMeasured follow."""

    def download(self, bundle: RemoteBundle) -> None:
        """Begin or go on with a download; DownloadChanged follows."""

    def pause(self, download_id: str) -> None: ...

    def resume(self, download_id: str) -> None: ...

    def cancel_download(self, download_id: str) -> None:
        """Stop it and delete what there is of it."""

    def dismiss(self, download_id: str) -> None:
        """Forget one that is done, failed or cancelled."""

    def remove(self, installed_id: str) -> int:
        """Delete what was downloaded; ModelRemoved follows."""

    def verify(self, installed_id: str) -> int:
        """Compare the files with their sha256; VerifyProgress and ModelVerified follow."""

    def set_token(self, token: str) -> int:
        """Keep the Hub's token, "" removes it; TokenChecked follows."""

    def add_folder(self, folder: str) -> int:
        """Look into `folder` for models too; FoldersChanged follows."""

    def remove_folder(self, folder: str) -> int: ...
