"""The models' facade: what the window asks about models becomes jobs, and what they find becomes events."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.budget.budget import CONTEXT_LADDER, Budget
from engine.budget.held import Held, held_by
from engine.desk.calls import OrderedCalls
from engine.desk.jobs import CancelToken, JobRunner
from engine.desk.surveyor import Surveyor
from engine.download.progress import DownloadProgress
from engine.errors import Cancelled, SlipstreamError
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
    TokenChecked,
    VerifyProgress,
)
from engine.models_service import BudgetRequest
from engine.service import EngineService, Service, ServiceEvent
from engine.shelf.installed_model import InstalledModel
from engine.worker.messages import BudgetMeasured, DevicesMeasured, MeasureDevicesProgress

if TYPE_CHECKING:
    from engine.desk.parts import Parts


N_LOCAL_THREADS = 4
N_HUB_THREADS = 8


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
        numbers = itertools.count(1)
        self._jobs = JobRunner(self._tell, N_LOCAL_THREADS, numbers)
        # Jobs that hang on a network without an end must not keep others from what is here.
        self._hub_jobs = JobRunner(self._tell, N_HUB_THREADS, numbers)
        self._runners = (self._jobs, self._hub_jobs)
        self._orders = OrderedCalls("models-orders")
        self._surveyor = Surveyor(make_surveying_service)
        self._parts_lock = threading.Lock()
        self._made_parts: Parts | None = None
        self._is_online = True
        self._contact_lock = threading.Lock()
        self._held: Held = ()
        self._budgets: dict[str, Budget] = {}

    # ---------------------------------------------------------------------------------------- beginning

    def start(self, on_event: Callable[[ModelsEvent], None]) -> None:
        self._on_event = on_event
        for runner in self._runners:
            runner.start()
        self._orders.start()
        self._orders.put(self._start_downloads)

    def stop(self, timeout_s: float = 1.0) -> None:
        self._on_event = lambda _: None
        if self._made_parts is not None:
            self._orders.put(lambda: self._parts.close(timeout_s))
        self._orders.stop(timeout_s)
        for runner in self._runners:
            runner.stop(timeout_s / 4)
        self._surveyor.stop(timeout_s / 2)

    def cancel(self, job: int) -> None:
        for runner in self._runners:
            runner.cancel(job)

    @property
    def _parts(self) -> Parts:
        from engine.desk.parts import Parts

        with self._parts_lock:
            if self._made_parts is None:
                self._made_parts = Parts(self._folder, self._endpoint, self._note_contact)
            return self._made_parts

    def _start_downloads(self) -> None:
        downloads = self._parts.downloads
        downloads.start(self._on_download)
        downloads.go_on()

    # ------------------------------------------------------------------------------- what there is

    def list_offers(self) -> int:
        return self._jobs.submit(self._list_offers)

    def _list_offers(self, job: int, token: CancelToken) -> ModelsEvent:
        from engine.desk import works

        devices = self._surveyor.devices(token)
        opened = tuple(self._opened_files())
        return works.offer(job, self._parts, opened, devices, self._held, dict(self._budgets))

    def search(self, query: HubQuery, cursor: str = "") -> int:
        def work(job: int, _token: CancelToken) -> ModelsEvent:
            return HubSearched(job, self._parts.client.search(query, cursor))

        return self._hub_jobs.submit(work)

    def open_repo(self, repo: str) -> int:
        def work(job: int, token: CancelToken) -> ModelsEvent:
            return HubRepoOpened(job, self._parts.client.open_repo(repo, lambda: token.is_set))

        return self._hub_jobs.submit(work)

    def judge_drafters(self, repo: HubRepo, quantisation: Quantisation) -> int:
        def work(job: int, token: CancelToken) -> ModelsEvent:
            from engine.desk import works

            return HubRepoOpened(job, works.judge(self._parts, repo, quantisation, token))

        return self._hub_jobs.submit(work)

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

    def suggest_drafters(self, target: str) -> int:
        def work(job: int, _token: CancelToken) -> ModelsEvent:
            from engine.desk import works

            return works.suggest(job, target, tuple(self._opened_files()))

        return self._jobs.submit(work)

    def budget(self, request: BudgetRequest) -> int:
        def work(job: int, token: CancelToken) -> ModelsEvent:
            from engine.desk import works

            parts = self._parts
            try:
                question = works.question_of(request, self._held, parts, token)
            except SlipstreamError as error:
                # Without a header there are still the catalogue's facts, and they are marked as what they are.
                entry = parts.entry_of(request.remote)
                if entry is None or isinstance(error, Cancelled):
                    raise
                devices = self._surveyor.devices(token)
                return BudgetMade(job, works.estimate(request, entry, devices, self._held))
            told = self._surveyor.ask(lambda service: service.budget(question), BudgetMeasured, token)
            self._keep(request, told.budget)
            return BudgetMade(job, told.budget)

        return self._hub_jobs.submit(work) if request.remote is not None else self._jobs.submit(work)

    def _keep(self, request: BudgetRequest, budget: Budget) -> None:
        """Have the list use llama.cpp's own numbers from now on."""
        is_usual = (
            not request.race and request.n_gpu_layers == -1 and budget.at(CONTEXT_LADDER[2]) is not None
        )
        if request.remote is not None and is_usual:
            self._budgets[request.remote.id] = budget

    def measure(self) -> int:
        def work(job: int, token: CancelToken) -> ModelsEvent:
            from engine.desk import works

            def on_event(event: ServiceEvent) -> None:
                if isinstance(event, MeasureDevicesProgress):
                    self._tell(MeasureProgress(job, event.what, event.fraction))

            told = self._surveyor.ask(
                lambda service: service.measure_devices(), DevicesMeasured, token, on_event
            )
            works.keep(told.speed)
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
            from engine.desk import works

            def tell(fraction: float) -> None:
                self._tell(VerifyProgress(job, installed_id, fraction))

            return ModelVerified(
                job, installed_id, works.verify(self._folder, self._shelf(), installed_id, tell, token)
            )

        return self._jobs.submit(work)

    def _shelf(self) -> Sequence[InstalledModel]:
        from engine.shelf.shelf import list_shelf

        return list_shelf(opened=tuple(self._opened_files()))

    # ----------------------------------------------------------------------------------- settings

    def set_token(self, token: str) -> int:
        def work(job: int, _token: CancelToken) -> ModelsEvent:
            from engine.desk import works

            return TokenChecked(job, works.change_token(self._parts, token))

        return self._hub_jobs.submit(work)

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

    def _note_contact(self, is_online: bool) -> None:
        """Tell whether the Hub could be reached, where that is news."""
        with self._contact_lock:
            if is_online == self._is_online:
                return
            self._is_online = is_online
            self._tell(ConnectionChanged(is_online))
