"""A stand-in for the models' facade at its boundary: a computer with a GPU of 12 GiB, bundles, a Hub, and downloads
that go on, stall, fail and finish, on threads of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count

import msgspec

from engine.download.progress import DownloadProgress, DownloadState, FileProgress
from engine.hub.listing import HubPage, HubQuery, HubRepo, Quantisation
from engine.models.bundle import NGRAM_DRAFTER, Bundle
from engine.models.remote import RemoteBundle
from engine.models_events import (
    BudgetMade,
    ComputerMeasured,
    ConnectionChanged,
    DownloadChanged,
    DraftersSuggested,
    FoldersChanged,
    HubRepoOpened,
    HubSearched,
    LocalDrafter,
    MeasureProgress,
    ModelRemoved,
    ModelsEvent,
    ModelsFailed,
    ModelVerified,
    Offer,
    OffersListed,
    TokenChecked,
    Unreadable,
    VerifyProgress,
)
from engine.models_service import BudgetRequest
from engine.recommend.advice import ComputerSpeed
from tests.app.model_facts import (
    HUB_MODELS,
    OFFERS,
    SPEED,
    budget_of,
    installed_offer,
    judged,
    offer_of,
    repo_page,
)

PAGE = 20
_OFFLINE = ("Offline", "The Hugging Face Hub cannot be reached.", "Check the connection, then try again.")


@dataclass(frozen=True)
class ModelsScript:
    """What the stand-in does. Times in seconds; `stop_at` is the fraction where downloads stay, in `stop_state`."""

    offers: tuple[Offer, ...] = OFFERS
    speed: ComputerSpeed = SPEED
    drafters: tuple[LocalDrafter, ...] = (LocalDrafter(NGRAM_DRAFTER, "n-gram"),)
    unreadable: tuple[Unreadable, ...] = ()
    online: bool = True
    answer_s: float = 0.0
    budget_s: float = 0.0
    download_s: float = 0.4
    stop_at: float = 1.0
    stop_state: DownloadState = DownloadState.DONE
    measure_s: float = 0.2
    gate_user: str = "ada"
    token_trouble: ModelsFailed | None = None
    budget_trouble: ModelsFailed | None = None
    verify_sentence: str = ""
    n_hub: int = 60


@dataclass
class ScriptedModels:
    """Implements engine.models_service.ModelsService. `calls` is what the window asked for."""

    script: ModelsScript = field(default_factory=ModelsScript)
    restored: tuple[DownloadProgress, ...] = ()
    calls: list[tuple[str, object]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._jobs = count(1)
        self._cancelled: set[int] = set()
        self._held: dict[str, DownloadState] = {}
        self._progress: dict[str, DownloadProgress] = {}
        self._threads: list[threading.Thread] = []
        self._stopping = threading.Event()
        self._folders: tuple[str, ...] = ()
        self._offers = self.script.offers
        self._on_event: Callable[[ModelsEvent], None] = lambda _: None

    def start(self, on_event: Callable[[ModelsEvent], None]) -> None:
        self._on_event = on_event
        for progress in self.restored:
            self._progress[progress.id] = progress
            self.tell(DownloadChanged(progress))

    def tell(self, event: ModelsEvent) -> None:
        """Send `event` as a thread of the facade would."""
        self._on_event(event)

    def stop(self, timeout_s: float = 1.0) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(timeout_s)

    def cancel(self, job: int) -> None:
        self.calls.append(("cancel", job))
        self._cancelled.add(job)

    # ---------------------------------------------------------------------------------------- answers

    def list_offers(self) -> int:
        return self._answer("list", None, self._listed)

    def _listed(self, job: int) -> OffersListed:
        return OffersListed(job, self._offers, self.script.speed, self._folders, self.script.unreadable)

    def search(self, query: HubQuery, cursor: str = "") -> int:
        return self._hub("search", (query, cursor), lambda job: HubSearched(job, self._page(query, cursor)))

    def open_repo(self, repo: str) -> int:
        return self._hub("open_repo", repo, lambda job: HubRepoOpened(job, repo_page(repo)))

    def judge_drafters(self, repo: HubRepo, quantisation: Quantisation) -> int:
        return self._hub("judge_drafters", (repo, quantisation), lambda job: HubRepoOpened(job, judged(repo)))

    def suggest_drafters(self, target: str) -> int:
        return self._answer(
            "suggest_drafters", target, lambda job: DraftersSuggested(job, target, self.script.drafters)
        )

    def note_loaded(self, worker_pid: int, memory_bytes: Mapping[str, int]) -> None:
        self.calls.append(("note_loaded", (worker_pid, dict(memory_bytes))))

    def remember_race(
        self, bundle: Bundle, plain_tokens_per_s: float, speculative_tokens_per_s: float
    ) -> None:
        self.calls.append(("remember_race", (bundle, plain_tokens_per_s, speculative_tokens_per_s)))

    def budget(self, request: BudgetRequest) -> int:
        def answer(job: int) -> ModelsEvent:
            trouble = self.script.budget_trouble
            if trouble is not None and request.remote is not None:
                return msgspec.structs.replace(trouble, job=job)
            return BudgetMade(job, budget_of(request))

        if request.remote is not None:
            return self._hub("budget", request, answer, wait_s=self.script.budget_s)
        return self._answer("budget", request, answer, wait_s=self.script.budget_s)

    def set_token(self, token: str) -> int:
        def answer(job: int) -> ModelsEvent:
            if self.script.token_trouble is not None:
                return msgspec.structs.replace(self.script.token_trouble, job=job)
            return TokenChecked(job, self.script.gate_user if token else "")

        return self._hub("set_token", token, answer)

    def add_folder(self, folder: str) -> int:
        self._folders = (*self._folders, folder)
        return self._answer("add_folder", folder, lambda job: FoldersChanged(job, self._folders))

    def remove_folder(self, folder: str) -> int:
        self._folders = tuple(one for one in self._folders if one != folder)
        return self._answer("remove_folder", folder, lambda job: FoldersChanged(job, self._folders))

    def remove(self, installed_id: str) -> int:
        gone = [one for one in self._offers if one.installed and one.installed.id == installed_id]
        freed = sum(one.installed.size_bytes for one in gone if one.installed)
        kept = [msgspec.structs.replace(one, installed=None) if one in gone else one for one in self._offers]
        self._offers = tuple(one for one in kept if one.installed or one.entry)
        return self._answer("remove", installed_id, lambda job: ModelRemoved(job, installed_id, freed))

    def measure(self) -> int:
        def work(job: int) -> None:
            for i in range(20):
                if self._is_over(job):
                    self.tell(ModelsFailed(job, "Cancelled", "Measuring was stopped."))
                    return
                what = "Reading weights on the GPU" if i < 12 else "Decoding with a small model"
                self.tell(MeasureProgress(job, what, i / 20))
                self._stopping.wait(self.script.measure_s / 20)
            self.tell(ComputerMeasured(job, SPEED))

        return self._spawn("measure", None, work)

    def verify(self, installed_id: str) -> int:
        def work(job: int) -> None:
            for i in range(4):
                self.tell(VerifyProgress(job, installed_id, i / 4))
                self._stopping.wait(0.01)
            self.tell(ModelVerified(job, installed_id, self.script.verify_sentence))

        return self._spawn("verify", installed_id, work)

    # -------------------------------------------------------------------------------------- downloads

    def download(self, bundle: RemoteBundle) -> None:
        self._held.pop(bundle.id, None)
        self._spawn("download", bundle, lambda _job: self._fetch(bundle))

    def pause(self, download_id: str) -> None:
        self.calls.append(("pause", download_id))
        self._held[download_id] = DownloadState.PAUSED

    def resume(self, download_id: str) -> None:
        self.calls.append(("resume", download_id))
        self._held.pop(download_id, None)
        bundle = self._progress[download_id].bundle
        self._spawn("fetch", download_id, lambda _job: self._fetch(bundle))

    def cancel_download(self, download_id: str) -> None:
        self.calls.append(("cancel_download", download_id))
        self._held[download_id] = DownloadState.CANCELLED
        progress = self._progress.pop(download_id, None)
        if progress is not None:
            self.tell(DownloadChanged(msgspec.structs.replace(progress, state=DownloadState.CANCELLED)))

    def dismiss(self, download_id: str) -> None:
        self.calls.append(("dismiss", download_id))
        self._progress.pop(download_id, None)

    def show_download(self, progress: DownloadProgress) -> None:
        """Tell of a download as it stands."""
        self._progress[progress.id] = progress
        self.tell(DownloadChanged(progress))

    def _fetch(self, bundle: RemoteBundle) -> None:
        steps = 20
        before = self._progress.get(bundle.id)
        first = int((before.fraction if before else 0.0) * steps)
        for i in range(first, steps + 1):
            held = self._held.get(bundle.id)
            if held is DownloadState.CANCELLED or self._stopping.is_set():
                return
            if held is not None:
                self.show_download(progress_of(bundle, i / steps, held))
                return
            if i / steps >= self.script.stop_at:
                break
            self.show_download(progress_of(bundle, i / steps, DownloadState.RUNNING))
            self._stopping.wait(self.script.download_s / steps)
        if self.script.stop_state is DownloadState.DONE:
            self._offers = tuple(
                installed_offer(one) if one.remote == bundle else one for one in self._offers
            )
            if not any(one.remote == bundle for one in self._offers):
                self._offers = (*self._offers, offer_of(bundle))
        self.show_download(progress_of(bundle, self.script.stop_at, self.script.stop_state))

    # ----------------------------------------------------------------------------------------- inside

    def _page(self, query: HubQuery, cursor: str) -> HubPage:
        words = query.text.lower()
        found = [one for one in HUB_MODELS[: self.script.n_hub] if words in one.repo.lower()]
        found = [one for one in found if not query.author or one.author == query.author]
        found = [one for one in found if one.drafter_files or not query.has_drafter]
        at = int(cursor or 0)
        more = str(at + PAGE) if at + PAGE < len(found) else ""
        return HubPage(tuple(found[at : at + PAGE]), more)

    def _hub(
        self, name: str, what: object, make: Callable[[int], ModelsEvent], wait_s: float | None = None
    ) -> int:
        def answer(job: int) -> ModelsEvent:
            self.tell(ConnectionChanged(self.script.online))
            return make(job) if self.script.online else ModelsFailed(job, *_OFFLINE)

        return self._answer(name, what, answer, wait_s=wait_s)

    def _answer(
        self, name: str, what: object, make: Callable[[int], ModelsEvent], wait_s: float | None = None
    ) -> int:
        def work(job: int) -> None:
            self._stopping.wait(self.script.answer_s if wait_s is None else wait_s)
            over = self._is_over(job)
            self.tell(ModelsFailed(job, "Cancelled", "It was stopped.") if over else make(job))

        return self._spawn(name, what, work)

    def _is_over(self, job: int) -> bool:
        return job in self._cancelled or self._stopping.is_set()

    def _spawn(self, name: str, what: object, work: Callable[[int], None]) -> int:
        job = next(self._jobs)
        self.calls.append((name, what))
        thread = threading.Thread(target=work, args=(job,), name=f"scripted-{name}", daemon=True)
        self._threads.append(thread)
        thread.start()
        return job


def progress_of(
    bundle: RemoteBundle, fraction: float, state: DownloadState, *, bytes_per_s: float = 42_300_000.0
) -> DownloadProgress:
    """Return `bundle`'s download as it stands at `fraction`."""
    files = tuple(
        FileProgress(file.path, file.size_bytes, int(file.size_bytes * fraction), state)
        for file in bundle.files
    )
    flows = state is DownloadState.RUNNING
    left_s = bundle.size_bytes * (1 - fraction) / bytes_per_s if flows else None
    said = {
        DownloadState.STALLED: ("No byte has come for 20 seconds.", "A new connection is tried in 8 s.", ""),
        DownloadState.FAILED: (
            "There is not enough room on the disk: 5.2 GB are needed, 1.1 GB are free.",
            "Free some space, then try again. What has come so far is kept.",
            "ENOSPC while writing the file",
        ),
    }.get(state, ("", "", ""))
    return DownloadProgress(bundle, state, files, bytes_per_s if flows else 0.0, left_s, *said)
