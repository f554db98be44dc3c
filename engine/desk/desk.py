"""The models' facade: what the window asks about models becomes jobs, and what they find becomes events."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.budget.budget import CONTEXT_LADDER, Budget
from engine.budget.held import Held, given_back, held_by
from engine.desk.calls import OrderedCalls
from engine.desk.jobs import CancelToken, JobRunner
from engine.desk.surveyor import Surveyor
from engine.download.progress import DownloadProgress
from engine.errors import Offline, SlipstreamError
from engine.folders import models_folder
from engine.hub.listing import HubQuery, HubRepo, Quantisation
from engine.models.bundle import Bundle
from engine.models.remote import RemoteBundle
from engine.models_events import (
    BudgetMade,
    ComputerMeasured,
    ConnectionChanged,
    DownloadChanged,
    FoldersChanged,
    HubRepoOpened,
    HubSearched,
    MeasureProgress,
    ModelRemoved,
    ModelsEvent,
    ModelVerified,
    OffersListed,
    TokenChecked,
    VerifyProgress,
)
from engine.models_service import BudgetRequest
from engine.service import EngineService, Service, ServiceEvent
from engine.shelf.installed_model import InstalledModel
from engine.worker.messages import BudgetMeasured, DevicesListed, DevicesMeasured, MeasureDevicesProgress

if TYPE_CHECKING:
    from engine.desk.parts import Parts


def _nothing() -> Sequence[str]:
    return ()


class ModelsDesk:
    """Fulfils ModelsService. `opened_files` gives the files that were opened by hand; `endpoint` "": the Hub.

    Modules that speak to the network are imported by the first job that needs them, not while the window opens.
    """

    def __init__(
        self,
        *,
        opened_files: Callable[[], Sequence[str]] = _nothing,
        endpoint: str = "",
        make_surveying_service: Callable[[], EngineService] = Service,
    ) -> None:
        self._opened_files = opened_files
        self._endpoint = endpoint
        self._folder: Path = models_folder()
        self._on_event: Callable[[ModelsEvent], None] = lambda _: None
        self._jobs = JobRunner(self._tell)
        self._orders = OrderedCalls("models-orders")
        self._surveyor = Surveyor(make_surveying_service)
        self._parts_lock = threading.Lock()
        self._made_parts: Parts | None = None
        self._is_online = True
        self._held: Held = ()
        self._budgets: dict[str, Budget] = {}

    # ---------------------------------------------------------------------------------------- beginning

    def start(self, on_event: Callable[[ModelsEvent], None]) -> None:
        self._on_event = on_event
        self._jobs.start()
        self._orders.start()
        self._orders.put(lambda: self._parts.downloads.start(self._on_download))

    def stop(self, timeout_s: float = 1.0) -> None:
        self._on_event = lambda _: None
        if self._made_parts is not None:
            self._orders.put(lambda: self._parts.close(timeout_s))
        self._orders.stop(timeout_s)
        self._jobs.stop(timeout_s / 2)
        self._surveyor.stop(timeout_s / 2)

    def cancel(self, job: int) -> None:
        self._jobs.cancel(job)

    @property
    def _parts(self) -> Parts:
        from engine.desk.parts import Parts

        with self._parts_lock:
            if self._made_parts is None:
                self._made_parts = Parts(self._folder, self._endpoint)
            return self._made_parts

    # ------------------------------------------------------------------------------- what there is

    def list_offers(self) -> int:
        return self._jobs.submit(self._list_offers)

    def _list_offers(self, job: int, token: CancelToken) -> ModelsEvent:
        from engine.desk.offers import list_offers
        from engine.recommend.advise import Computer
        from engine.recommend.store import read_speed
        from engine.shelf.folders import read_folders

        speed = read_speed()
        shelf = self._shelf()
        token.check()
        listed = self._surveyor.ask(lambda service: service.list_devices(), DevicesListed, token)
        computer = Computer(given_back(listed.devices, self._held), speed)
        offers = list_offers(self._parts.entries, shelf, computer, dict(self._budgets))
        return OffersListed(job, offers, speed, read_folders())

    def search(self, query: HubQuery, cursor: str = "") -> int:
        def work(job: int, _token: CancelToken) -> ModelsEvent:
            return HubSearched(job, self._parts.client.search(query, cursor))

        return self._ask_hub(work)

    def open_repo(self, repo: str) -> int:
        def work(job: int, token: CancelToken) -> ModelsEvent:
            return HubRepoOpened(job, self._parts.client.open_repo(repo, lambda: token.is_set))

        return self._ask_hub(work)

    def judge_drafters(self, repo: HubRepo, quantisation: Quantisation) -> int:
        def work(job: int, token: CancelToken) -> ModelsEvent:
            from engine.hub.drafters import facts_reader, find_drafters, judge_drafters

            parts = self._parts
            more = find_drafters(repo, parts.client, parts.entries, lambda: token.is_set)
            read = facts_reader(parts.headers_folder, parts.client, lambda: token.is_set)
            return HubRepoOpened(job, judge_drafters(more, quantisation, read, lambda: token.is_set))

        return self._ask_hub(work)

    # -------------------------------------------------------------------------------- what it takes

    def note_loaded(self, worker_pid: int, memory_bytes: Mapping[str, int]) -> None:
        memory_bytes = dict(memory_bytes)
        self._orders.put(lambda: self._hold(worker_pid, memory_bytes))

    def _hold(self, worker_pid: int, memory_bytes: Mapping[str, int]) -> None:
        self._held = held_by(worker_pid, memory_bytes) if memory_bytes else ()

    def remember_race(
        self, bundle: Bundle, plain_tokens_per_s: float, speculative_tokens_per_s: float
    ) -> None:
        def remember() -> None:
            from engine.recommend.store import remember_race

            with contextlib.suppress(OSError):
                remember_race(bundle, plain_tokens_per_s, speculative_tokens_per_s)

        self._orders.put(remember)

    def budget(self, request: BudgetRequest) -> int:
        def work(job: int, token: CancelToken) -> ModelsEvent:
            from engine.desk.located import question_of

            parts = self._parts
            question = question_of(request, self._held, parts.headers_folder, parts.client.endpoint, token)
            told = self._surveyor.ask(lambda service: service.budget(question), BudgetMeasured, token)
            self._keep(request, told.budget)
            return BudgetMade(job, told.budget)

        return self._ask_hub(work) if request.remote is not None else self._jobs.submit(work)

    def _keep(self, request: BudgetRequest, budget: Budget) -> None:
        """Have the list use llama.cpp's own numbers from now on."""
        is_usual = (
            not request.race and request.n_gpu_layers == -1 and budget.at(CONTEXT_LADDER[2]) is not None
        )
        if request.remote is not None and is_usual:
            self._budgets[request.remote.id] = budget

    def measure(self) -> int:
        def work(job: int, token: CancelToken) -> ModelsEvent:
            from engine.recommend.store import keep_speed

            def on_event(event: ServiceEvent) -> None:
                if isinstance(event, MeasureDevicesProgress):
                    self._tell(MeasureProgress(job, event.what, event.fraction))

            told = self._surveyor.ask(
                lambda service: service.measure_devices(), DevicesMeasured, token, on_event
            )
            try:
                keep_speed(told.speed)
            except OSError as error:
                raise SlipstreamError(
                    "What was measured cannot be kept.",
                    remedy="Free space on the disk, or check the permissions of its folder.",
                    detail=str(error),
                ) from error
            return ComputerMeasured(job, told.speed)

        return self._jobs.submit(work)

    # ---------------------------------------------------------------------------------- downloads

    def download(self, bundle: RemoteBundle) -> None:
        self._orders.put(lambda: self._parts.downloads.download(bundle))

    def pause(self, download_id: str) -> None:
        self._orders.put(lambda: self._parts.downloads.pause(download_id))

    def resume(self, download_id: str) -> None:
        self._orders.put(lambda: self._parts.downloads.resume(download_id))

    def cancel_download(self, download_id: str) -> None:
        self._orders.put(lambda: self._parts.downloads.cancel(download_id))

    def dismiss(self, download_id: str) -> None:
        self._orders.put(lambda: self._parts.downloads.dismiss(download_id))

    def remove(self, installed_id: str) -> int:
        def work(job: int, _token: CancelToken) -> ModelsEvent:
            from engine.download.remove import remove_bundle

            return ModelRemoved(job, installed_id, remove_bundle(self._folder, installed_id))

        return self._jobs.submit(work)

    def verify(self, installed_id: str) -> int:
        def work(job: int, token: CancelToken) -> ModelsEvent:
            from engine.bundles.verify import verify_bundle
            from engine.shelf.checking import verify_installed

            def tell(fraction: float) -> None:
                self._tell(VerifyProgress(job, installed_id, fraction))

            # A file that was damaged beyond its header is on no shelf any more, but it was downloaded.
            model = next((one for one in self._shelf() if one.id == installed_id), None)
            if model is None:
                sentence = verify_bundle(self._folder, installed_id, tell, lambda: token.is_set)
            else:
                sentence = verify_installed(model, tell, lambda: token.is_set)
            return ModelVerified(job, installed_id, sentence)

        return self._jobs.submit(work)

    def _shelf(self) -> Sequence[InstalledModel]:
        from engine.shelf.shelf import list_shelf

        return list_shelf(opened=tuple(self._opened_files()))

    # ----------------------------------------------------------------------------------- settings

    def set_token(self, token: str) -> int:
        def work(job: int, _token: CancelToken) -> ModelsEvent:
            from engine.hub.token import write_token

            write_token(token)
            return TokenChecked(job, self._parts.client.whoami())

        return self._ask_hub(work)

    def add_folder(self, folder: str) -> int:
        def work(job: int, _token: CancelToken) -> ModelsEvent:
            from engine.shelf.folders import add_folder

            return FoldersChanged(job, add_folder(folder))

        return self._jobs.submit(work)

    def remove_folder(self, folder: str) -> int:
        def work(job: int, _token: CancelToken) -> ModelsEvent:
            from engine.shelf.folders import remove_folder

            return FoldersChanged(job, remove_folder(folder))

        return self._jobs.submit(work)

    # ------------------------------------------------------------------------------------ telling

    def _tell(self, event: ModelsEvent) -> None:
        self._on_event(event)

    def _on_download(self, progress: DownloadProgress) -> None:
        self._tell(DownloadChanged(progress))

    def _ask_hub(self, work: Callable[[int, CancelToken], ModelsEvent]) -> int:
        """Submit a job that needs the Hub; whether it could be reached is told."""

        def watched(job: int, token: CancelToken) -> ModelsEvent:
            try:
                event = work(job, token)
            except Offline:
                self._note_connection(False)
                raise
            self._note_connection(True)
            return event

        return self._jobs.submit(watched)

    def _note_connection(self, is_online: bool) -> None:
        if is_online != self._is_online:
            self._is_online = is_online
            self._tell(ConnectionChanged(is_online))
