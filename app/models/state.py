"""What there is, what is here and what is on its way: shared by the Models page, the ring and the tray."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QElapsedTimer, QObject, Signal

from app.bridge import ModelsBridge
from app.models.drafters import LocalDrafters
from app.trouble import Trouble, trouble_of
from engine.download.progress import DownloadProgress, DownloadState
from engine.models.bundle import Bundle
from engine.models.remote import RemoteBundle
from engine.models_events import (
    ComputerMeasured,
    ConnectionChanged,
    DownloadChanged,
    FoldersChanged,
    MeasureProgress,
    ModelRemoved,
    ModelsFailed,
    ModelVerified,
    Offer,
    OffersListed,
    TokenChecked,
    Unreadable,
    VerifyProgress,
)
from engine.models_service import ModelsService
from engine.recommend.advice import ComputerSpeed
from engine.shelf.installed_model import InstalledModel

_AGAIN_MS = 60_000
"""After this files may have come and gone without Slipstream."""


class Task(StrEnum):
    """What a job was asked for, which is where its failure is told."""

    LIST = "list"
    MEASURE = "measure"
    REMOVE = "remove"
    VERIFY = "verify"
    TOKEN = "token"
    FOLDERS = "folders"


@dataclass(frozen=True, slots=True)
class Job:
    """A job under way: `about` is the id of the model it is about, "" for none."""

    task: Task
    about: str = ""


class ModelsState(QObject):
    """Follows the facade's events.

    Signals:
        offers_changed: offers, the computer's speed or the folders are other ones now.
        downloads_changed(str): the download with this id went on, changed its state or was forgotten.
        connection_changed(bool): the Hub can be reached, or not any more.
        measuring_changed: measuring began, went on or ended.
        verifying_changed(str, float): the fraction of this model that was verified; 1 at the end.
        verified(str, str): the model's id, and "" or a sentence about what is wrong.
        removed(str, int): the model's id and the bytes that were freed.
        token_checked(str): whom the Hub knows, "" for nobody.
        troubled(Job, Trouble): a job failed.
    """

    offers_changed = Signal()
    downloads_changed = Signal(str)
    connection_changed = Signal(bool)
    measuring_changed = Signal()
    verifying_changed = Signal(str, float)
    verified = Signal(str, str)
    removed = Signal(str, object)
    token_checked = Signal(str)
    troubled = Signal(object, object)

    def __init__(self, service: ModelsService, bridge: ModelsBridge, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.service = service
        self.bridge = bridge
        self.offers: tuple[Offer, ...] = ()
        self.speed = ComputerSpeed()
        self.folders: tuple[str, ...] = ()
        self.unreadable: tuple[Unreadable, ...] = ()
        self.downloads: dict[str, DownloadProgress] = {}
        self.is_listed = False
        self._since_look = QElapsedTimer()
        self.is_online = True
        self.user = ""
        self.measuring: MeasureProgress | None = None
        self.drafters = LocalDrafters(service, bridge, self)
        self.going: frozenset[str] = frozenset()
        self._jobs: dict[int, Job] = {}
        bridge.offers_listed.connect(self._on_offers)
        bridge.download_changed.connect(self._on_download)
        bridge.connection_changed.connect(self._on_connection)
        bridge.measure_progressed.connect(self._on_measuring)
        bridge.measured.connect(self._on_measured)
        bridge.removed.connect(self._on_removed)
        bridge.verify_progressed.connect(self._on_verifying)
        bridge.verified.connect(self._on_verified)
        bridge.token_checked.connect(self._on_token)
        bridge.folders_changed.connect(self._on_folders)
        bridge.failed.connect(self._on_failed)

    # ------------------------------------------------------------------------------------------ asking

    def start(self) -> None:
        """Start the facade; downloads that wait come back."""
        self.bridge.start()

    def look_first(self) -> None:
        """Ask what there is, unless that was asked a moment ago: a process of its own starts for it."""
        if not self._since_look.isValid() or self._since_look.elapsed() > _AGAIN_MS:
            self.refresh()

    def refresh(self) -> None:
        self._since_look.start()
        self._began(self.service.list_offers(), Task.LIST)

    def measure(self) -> None:
        """Measure this computer; a second call while it is under way does nothing."""
        if self.measuring is None:
            job = self.service.measure()
            self._began(job, Task.MEASURE)
            self.measuring = MeasureProgress(job, "", 0.0)
            self.measuring_changed.emit()

    def cancel_measuring(self) -> None:
        if self.measuring is not None:
            self.service.cancel(self.measuring.job)

    def download(self, bundle: RemoteBundle) -> None:
        self.service.download(bundle)

    def dismiss(self, download_id: str) -> None:
        """Forget a download that is over or failed."""
        self.service.dismiss(download_id)
        if self.downloads.pop(download_id, None) is not None:
            self.downloads_changed.emit(download_id)

    def remove(self, model: InstalledModel) -> None:
        """Delete it; until the list is read anew it is `going`."""
        self.going |= {model.id}
        self._began(self.service.remove(model.id), Task.REMOVE, model.id)

    def verify(self, model: InstalledModel) -> None:
        self._began(self.service.verify(model.id), Task.VERIFY, model.id)
        self.verifying_changed.emit(model.id, 0.0)

    def set_token(self, token: str) -> None:
        self._began(self.service.set_token(token), Task.TOKEN)

    def add_folder(self, folder: str) -> None:
        self._began(self.service.add_folder(folder), Task.FOLDERS)

    def remove_folder(self, folder: str) -> None:
        self._began(self.service.remove_folder(folder), Task.FOLDERS)

    # ----------------------------------------------------------------------------------------- looking

    def offer(self, offer_id: str) -> Offer | None:
        return next((offer for offer in self.offers if offer.id == offer_id), None)

    def installed_from(self, remote_id: str) -> InstalledModel | None:
        """Return what was downloaded as `remote_id`, None if it is not here."""
        models = (offer.installed for offer in self.offers)
        return next((model for model in models if model and remote_id and model.remote_id == remote_id), None)

    @property
    def installed(self) -> tuple[Bundle, ...]:
        """Return the bundles that are on this computer."""
        return tuple(offer.installed.bundle for offer in self.offers if offer.installed is not None)

    @property
    def running(self) -> tuple[DownloadProgress, ...]:
        """Return the downloads that are under way, in the order in which they began."""
        return tuple(one for one in self.downloads.values() if one.state.is_active)

    @property
    def waiting(self) -> tuple[DownloadProgress, ...]:
        """Return the downloads that are paused or have failed: nothing goes on with them before somebody says so."""
        states = (DownloadState.PAUSED, DownloadState.FAILED)
        return tuple(one for one in self.downloads.values() if one.state in states)

    def resume_all(self) -> None:
        for one in self.waiting:
            self.service.resume(one.id)

    # --------------------------------------------------------------------------------------- following

    def _began(self, job: int, task: Task, about: str = "") -> None:
        self._jobs[job] = Job(task, about)

    def _on_offers(self, event: OffersListed) -> None:
        self._jobs.pop(event.job, None)
        self.offers, self.speed, self.folders = event.offers, event.speed, event.folders
        self.unreadable = event.unreadable
        self.is_listed = True
        self.going &= {job.about for job in self._jobs.values() if job.task is Task.REMOVE}
        self.offers_changed.emit()

    def _on_download(self, event: DownloadChanged) -> None:
        progress = event.progress
        if progress.state is DownloadState.RUNNING and progress.bytes_per_s:
            # Bytes come from the Hub: it can be reached again.
            self._on_connection(ConnectionChanged(True))
        before = self.downloads.get(progress.id)
        if progress.state is DownloadState.CANCELLED:
            self.downloads.pop(progress.id, None)
        else:
            self.downloads[progress.id] = progress
        self.downloads_changed.emit(progress.id)
        if progress.state is DownloadState.DONE and (before is None or before.state != DownloadState.DONE):
            self.refresh()

    def _on_connection(self, event: ConnectionChanged) -> None:
        if event.is_online != self.is_online:
            self.is_online = event.is_online
            self.connection_changed.emit(event.is_online)

    def _on_measuring(self, event: MeasureProgress) -> None:
        if self.measuring is not None and self.measuring.job == event.job:
            self.measuring = event
            self.measuring_changed.emit()

    def _on_measured(self, event: ComputerMeasured) -> None:
        self._jobs.pop(event.job, None)
        self.speed = event.speed
        self._end_measuring(event.job)
        self.refresh()

    def _end_measuring(self, job: int) -> None:
        if self.measuring is not None and self.measuring.job == job:
            self.measuring = None
            self.measuring_changed.emit()

    def _on_removed(self, event: ModelRemoved) -> None:
        self._jobs.pop(event.job, None)
        self.removed.emit(event.id, event.freed_bytes)
        self.refresh()

    def _on_verifying(self, event: VerifyProgress) -> None:
        self.verifying_changed.emit(event.id, event.fraction)

    def _on_verified(self, event: ModelVerified) -> None:
        self._jobs.pop(event.job, None)
        self.verifying_changed.emit(event.id, 1.0)
        self.verified.emit(event.id, event.sentence)

    def _on_token(self, event: TokenChecked) -> None:
        self._jobs.pop(event.job, None)
        self.user = event.user
        self.token_checked.emit(event.user)

    def _on_folders(self, event: FoldersChanged) -> None:
        self._jobs.pop(event.job, None)
        self.folders = event.folders
        self.offers_changed.emit()
        self.refresh()

    def _on_failed(self, event: ModelsFailed) -> None:
        job = self._jobs.pop(event.job, None)
        if job is None:
            return
        trouble: Trouble = trouble_of(event)
        if job.task is Task.LIST:
            self.is_listed = True
            self.offers_changed.emit()
        if job.task is Task.REMOVE:
            self.going -= {job.about}
        if job.task is Task.MEASURE:
            self._end_measuring(event.job)
        if job.task is Task.VERIFY:
            self.verifying_changed.emit(job.about, 1.0)
        if not trouble.is_cancel:
            self.troubled.emit(job, trouble)
