"""A models' facade that knows of nothing, until the engine's own one stands."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from engine.hub.listing import HubQuery
from engine.models.remote import RemoteBundle
from engine.models_events import ModelsEvent, ModelsFailed, OffersListed
from engine.models_service import BudgetRequest
from engine.recommend.advice import ComputerSpeed


class NoModels:
    """Implements engine.models_service.ModelsService: lists nothing and refuses every job."""

    def __init__(self) -> None:
        self._jobs = count(1)
        self._on_event: Callable[[ModelsEvent], None] = lambda _: None

    def start(self, on_event: Callable[[ModelsEvent], None]) -> None:
        self._on_event = on_event

    def stop(self, timeout_s: float = 1.0) -> None: ...

    def cancel(self, job: int) -> None: ...

    def list_offers(self) -> int:
        job = next(self._jobs)
        self._on_event(OffersListed(job, (), ComputerSpeed()))
        return job

    def _refuse(self) -> int:
        job = next(self._jobs)
        self._on_event(ModelsFailed(job, "NotThere", "Models cannot be looked up in this version."))
        return job

    def search(self, query: HubQuery, cursor: str = "") -> int:
        return self._refuse()

    def open_repo(self, repo: str) -> int:
        return self._refuse()

    def budget(self, request: BudgetRequest) -> int:
        return self._refuse()

    def measure(self) -> int:
        return self._refuse()

    def download(self, bundle: RemoteBundle) -> None: ...

    def pause(self, download_id: str) -> None: ...

    def resume(self, download_id: str) -> None: ...

    def cancel_download(self, download_id: str) -> None: ...

    def dismiss(self, download_id: str) -> None: ...

    def remove(self, installed_id: str) -> int:
        return self._refuse()

    def verify(self, installed_id: str) -> int:
        return self._refuse()

    def set_token(self, token: str) -> int:
        return self._refuse()

    def add_folder(self, folder: str) -> int:
        return self._refuse()

    def remove_folder(self, folder: str) -> int:
        return self._refuse()
