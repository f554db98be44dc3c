"""One bundle's download: its files over a few streams, with one state, and a thread that brings it to an end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import msgspec

from engine.bundles.names import check_bundle
from engine.bundles.store import (
    is_stored,
    known_file,
    read_manifest,
    read_manifests,
    write_manifest,
)
from engine.download.abandon import run_or_abandon
from engine.download.contents import ReadFacts, checked_contents, unreadable_files
from engine.download.disk import require_writable
from engine.download.jobs import Job, done_bytes, forget_job, write_job
from engine.download.line import Hub
from engine.download.meters import FileMeter, SpeedMeter, joint_state
from engine.download.outcome import outcome_of
from engine.download.progress import DownloadProgress, DownloadState
from engine.download.remove import delete_unused
from engine.download.streams import each_over_streams
from engine.download.switch import Switch
from engine.download.transfer import Transfer, TransferSettings
from engine.errors import DiskFull, SlipstreamError
from engine.models.gguf_header import MAGIC
from engine.models.remote import RemoteBundle, RemoteFile


class Wanted(Enum):
    """What the person wants of a download; the thread brings it about."""

    RUN = "run"
    PAUSE = "pause"
    CANCEL = "cancel"
    QUIT = "quit"


@dataclass(frozen=True)
class Surroundings:
    """What all downloads share. `slots` bounds the streams over all of them; `check_room` raises DiskFull.

    `read_facts` None: what arrives is not looked into.
    """

    folder: Path
    hub: Hub
    settings: TransferSettings
    slots: threading.Semaphore
    n_streams: int
    resolve: Callable[[RemoteBundle], RemoteBundle]
    read_facts: ReadFacts | None
    check_room: Callable[[], None]
    on_state: Callable[[DownloadProgress], None]


@dataclass
class BundleDownload:
    """What is known of one download. Everything that changes is guarded by `lock`; `_work` is its thread's.

    Nothing is written, and nothing waited for, while `lock` is held. `reason` is why it is to pause, None: the person.
    """

    bundle: RemoteBundle
    around: Surroundings
    state: DownloadState = DownloadState.WAITING
    error: SlipstreamError | None = None
    wanted: Wanted = Wanted.PAUSE
    reason: DiskFull | None = None
    is_dismissed: bool = False
    switch: Switch = field(default_factory=Switch)
    thread: threading.Thread | None = None
    meters: list[FileMeter] = field(default_factory=list)
    speed: SpeedMeter = field(default_factory=SpeedMeter)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.meters = self._measured(self.bundle)

    @classmethod
    def from_job(cls, job: Job, around: Surroundings) -> BundleDownload:
        """Return a download that an earlier run of Slipstream left: failed if it had failed, else paused."""
        error = None
        if job.sentence:
            error = SlipstreamError(job.sentence, remedy=job.remedy, detail=job.detail)
        state = job.state if job.state is DownloadState.FAILED else DownloadState.PAUSED
        return cls(job.bundle, around, state, error)

    @property
    def fetched_bytes(self) -> int:
        return sum(meter.fetched_bytes for meter in self.meters)

    def want(self, wanted: Wanted) -> None:
        """Say what the person wants and bring it on its way; never waits."""
        with self.lock:
            if self.wanted is wanted and self.thread is not None:
                return
            self.wanted = wanted
            if wanted is not Wanted.RUN:
                self.switch.turn_off()
            if self.thread is None and wanted in (Wanted.RUN, Wanted.CANCEL):
                name = f"download {self.bundle.id}"
                self.thread = threading.Thread(target=self._work, name=name, daemon=True)
                self.thread.start()

    def pause(self, why: DiskFull | None = None) -> None:
        """Pause, because the person wants it or because of `why`; nothing happens to one that stands still."""
        with self.lock:
            if self.thread is not None:
                self.reason = why
                self.want(Wanted.PAUSE)

    def to_come_bytes(self) -> dict[tuple[str, str, str], int]:
        """Return what is still to come by (repository, path, revision); nothing if it does not run."""
        with self.lock:
            if self.thread is None or self.wanted is not Wanted.RUN:
                return {}
            return {(m.file.repo, m.file.path, m.file.revision): m.to_come_bytes for m in self.meters}

    def sample_speed(self, now_s: float) -> None:
        """Take the counter's reading at `now_s`."""
        with self.lock:
            self.speed.sample(now_s, self.fetched_bytes)

    def progress(self) -> DownloadProgress:
        with self.lock:
            state, sentence = self.state, ""
            if state is DownloadState.RUNNING:
                state, sentence = joint_state(self.meters)
            is_moving = state is DownloadState.RUNNING
            bytes_per_s = self.speed.bytes_per_s if is_moving else 0.0
            made = DownloadProgress(
                self.bundle,
                state,
                tuple(meter.progress(state) for meter in self.meters),
                bytes_per_s,
                sentence=self.error.sentence if self.error else sentence,
                remedy=self.error.remedy if self.error else "",
                detail=self.error.detail if self.error else "",
            )
        if bytes_per_s and made.size_bytes:
            left_s = max(made.size_bytes - made.done_bytes, 0) / bytes_per_s
            return msgspec.structs.replace(made, left_s=left_s)
        return made

    def _work(self) -> None:
        """Do what is wanted until that is done; the person may have changed their mind in the meantime."""
        while True:
            with self.lock:
                wanted = self.wanted
                reason = self.reason if wanted is Wanted.PAUSE else None
                if wanted is Wanted.RUN:
                    self.switch = Switch()
            end: DownloadState | None = DownloadState.PAUSED
            error: SlipstreamError | None = reason
            if wanted is Wanted.CANCEL:
                end = self._clear_away()
            elif wanted is Wanted.RUN:
                end, error = outcome_of(self._run, self.around.folder)
            if end is not None:
                # What only the end of the program stopped is to go on by itself at the next start.
                self._keep(DownloadState.WAITING if wanted is Wanted.QUIT else end, error)
            with self.lock:
                if end is DownloadState.DONE or (self.wanted is wanted and end is not None):
                    self._stand_still(end, error)
                    return

    def _stand_still(self, state: DownloadState, error: SlipstreamError | None) -> None:
        self.thread, self.wanted, self.reason = None, Wanted.PAUSE, None
        if state is DownloadState.CANCELLED:
            self.meters = [FileMeter(file, 0, self._tell) for file in self.bundle.files]
        self._change(state, error)

    def _change(self, state: DownloadState, error: SlipstreamError | None) -> None:
        """Change state and tell it; `lock` is held."""
        self.state, self.error = state, error
        self.speed.clear()
        self.around.on_state(self.progress())

    def _set(self, state: DownloadState) -> None:
        """Keep a state for the next start, change to it, and tell it."""
        self._keep(state)
        with self.lock:
            self._change(state, None)

    def _keep(self, state: DownloadState, error: SlipstreamError | None = None) -> None:
        """Write down where it stands, or forget it once it is over; on its own thread, which may wait for the disk."""
        folder, told = self.around.folder, error or SlipstreamError("")
        with suppress(OSError):
            if state.is_over:
                forget_job(folder, self.bundle.id)
            else:
                write_job(folder, Job(self.bundle, state, told.sentence, told.remedy, told.detail))

    def _run(self) -> None:
        self._set(DownloadState.CHECKING)
        check_bundle(self.bundle)
        require_writable(self.around.folder)
        if not all(file.is_pinned for file in self.bundle.files):
            self._pin()
        folder, read = self.around.folder, self.around.read_facts
        manifests = read_manifests(folder)
        # A file of the right length may hold anything by now.
        unreadable = unreadable_files(folder, self.bundle, read) if read is not None else frozenset()
        todo = []
        for meter in self.meters:
            if meter.file not in unreadable and is_stored(folder, manifests, meter.file):
                meter.file = known_file(manifests, meter.file) or meter.file
                meter.bytes(meter.file.size_bytes)
                meter.state(DownloadState.DONE)
            else:
                # What the last attempt counted may have been thrown away since.
                meter.bytes(self._done_bytes(meter.file))
                meter.state(DownloadState.WAITING)
                todo.append(meter)
        self.around.check_room()
        self._set(DownloadState.RUNNING)
        each_over_streams(self._fetch, todo, self.around.slots, self.around.n_streams, self.switch)
        self._finish()

    def _finish(self) -> None:
        """Say that the bundle is whole, and delete what an older version of it leaves behind."""
        folder = self.around.folder
        before = read_manifest(folder, self.bundle.id)
        whole = _with_files(self.bundle, tuple(meter.file for meter in self.meters))
        if self.around.read_facts is not None:
            whole = checked_contents(folder, whole, self.around.read_facts)
        with self.lock:
            self.bundle = whole
        write_manifest(folder, self.bundle)
        if before is not None:
            with suppress(SlipstreamError, OSError):
                delete_unused(folder, before.files)

    def _pin(self) -> None:
        """Let the Hub say what is there now, and keep the answer: a resumed download is of the same commit."""
        resolved = run_or_abandon(lambda: self.around.resolve(self.bundle), self.switch)
        check_bundle(resolved)
        files = tuple(
            file if file.size_bytes and file.is_at_commit else self._transfer(file).locate()
            for file in resolved.files
        )
        bundle = _with_files(resolved, files)
        meters = self._measured(bundle)
        self.switch.check()
        with self.lock:
            self.bundle, self.meters = bundle, meters
        self._keep(self.state)

    def _measured(self, bundle: RemoteBundle) -> list[FileMeter]:
        return [FileMeter(file, self._done_bytes(file), self._tell) for file in bundle.files]

    def _done_bytes(self, file: RemoteFile) -> int:
        return min(done_bytes(self.around.folder, file), file.size_bytes or 0)

    def _tell(self) -> None:
        with self.lock:
            if self.state is DownloadState.RUNNING:
                self.around.on_state(self.progress())

    def _transfer(self, file: RemoteFile, meter: FileMeter | None = None) -> Transfer:
        around = self.around
        report = meter or FileMeter(file, 0, lambda: None)
        begins_with = MAGIC if around.read_facts is not None and file.name.lower().endswith(".gguf") else b""
        return Transfer(file, around.folder, around.hub, self.switch, report, around.settings, begins_with)

    def _fetch(self, meter: FileMeter) -> None:
        meter.file = self._transfer(meter.file, meter).run()
        meter.state(DownloadState.DONE)

    def _clear_away(self) -> DownloadState:
        """Delete what there is of it and nobody else needs."""
        folder = self.around.folder
        with suppress(SlipstreamError, OSError):
            write_job(folder, Job(self.bundle, DownloadState.CANCELLED))
            delete_unused(folder, self.bundle.files, but_job=self.bundle.id)
        return DownloadState.CANCELLED


def _with_files(bundle: RemoteBundle, files: tuple[RemoteFile, ...]) -> RemoteBundle:
    n_target = len(bundle.target)
    return msgspec.structs.replace(bundle, target=files[:n_target], drafter=files[n_target:])
