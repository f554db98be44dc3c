"""One bundle's download: its files over a few streams, with one state, and a thread that brings it to an end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import msgspec

from engine.download.abandon import run_or_abandon
from engine.download.jobs import Job, done_bytes, forget_job, write_job
from engine.download.line import Hub
from engine.download.meters import FileMeter, SpeedMeter, joint_state
from engine.download.names import check_bundle
from engine.download.partial import NO_ROOM, disk_full
from engine.download.progress import DownloadProgress, DownloadState
from engine.download.remove import delete_unused
from engine.download.store import (
    is_stored,
    known_file,
    read_manifest,
    read_manifests,
    write_manifest,
)
from engine.download.streams import each_over_streams
from engine.download.switch import Stopped, Switch
from engine.download.transfer import Transfer, TransferSettings
from engine.errors import DiskFull, DownloadBroken, SlipstreamError
from engine.models.remote import RemoteBundle, RemoteFile


class Wanted(Enum):
    """What the person wants of a download; the thread brings it about."""

    RUN = "run"
    PAUSE = "pause"
    CANCEL = "cancel"
    QUIT = "quit"


@dataclass(frozen=True)
class Surroundings:
    """What all downloads share. `slots` bounds the streams over all of them; `check_room` raises DiskFull."""

    folder: Path
    hub: Hub
    settings: TransferSettings
    slots: threading.Semaphore
    n_streams: int
    resolve: Callable[[RemoteBundle], RemoteBundle]
    check_room: Callable[[], None]
    on_state: Callable[[DownloadProgress], None]


@dataclass
class BundleDownload:
    """What is known of one download. Everything that changes is guarded by `lock`; `_work` is its thread's."""

    bundle: RemoteBundle
    around: Surroundings
    state: DownloadState = DownloadState.WAITING
    error: SlipstreamError | None = None
    wanted: Wanted = Wanted.PAUSE
    is_dismissed: bool = False
    switch: Switch = field(default_factory=Switch)
    thread: threading.Thread | None = None
    meters: list[FileMeter] = field(default_factory=list)
    speed: SpeedMeter = field(default_factory=SpeedMeter)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self._measure_files()

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
                self.error = why
                self.want(Wanted.PAUSE)

    def to_come_bytes(self) -> dict[tuple[str, str, str], int]:
        """Return what is still to come by (repository, path, revision); nothing if it does not run."""
        with self.lock:
            if self.thread is None or self.wanted is not Wanted.RUN:
                return {}
            return {(m.file.repo, m.file.path, m.file.revision): m.to_come_bytes for m in self.meters}

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
                if wanted is Wanted.RUN:
                    self.switch = Switch()
                elif wanted is not Wanted.CANCEL:
                    self._stand_still(DownloadState.PAUSED, self.error if wanted is Wanted.PAUSE else None)
                    return
            if wanted is Wanted.CANCEL:
                self._clear_away()
            end, error = (DownloadState.CANCELLED, None) if wanted is Wanted.CANCEL else self._attempt()
            with self.lock:
                if end is DownloadState.DONE or (self.wanted is wanted and end is not None):
                    self._stand_still(end, error)
                    return

    def _stand_still(self, state: DownloadState, error: SlipstreamError | None) -> None:
        self.thread = None
        self.wanted = Wanted.PAUSE
        self._set(state, error)

    def _set(self, state: DownloadState, error: SlipstreamError | None = None) -> None:
        """Change state, keep it for the next start, and tell it."""
        with self.lock:
            self.state, self.error = state, error
            self.speed.clear()
            with suppress(OSError):
                if state.is_over:
                    forget_job(self.around.folder, self.bundle.id)
                else:
                    self._write_job()
            self.around.on_state(self.progress())

    def _write_job(self) -> None:
        error = self.error or SlipstreamError("")
        write_job(
            self.around.folder, Job(self.bundle, self.state, error.sentence, error.remedy, error.detail)
        )

    def _attempt(self) -> tuple[DownloadState | None, SlipstreamError | None]:
        """Run once; return how it ended, None if it was stopped."""
        try:
            self._run()
        except Stopped:
            return None, None
        except DiskFull as error:
            return DownloadState.PAUSED, error
        except SlipstreamError as error:
            return DownloadState.FAILED, error
        except OSError as error:
            if error.errno in NO_ROOM:
                return DownloadState.PAUSED, disk_full(error)
            return DownloadState.FAILED, _unwritable(self.around.folder, error)
        except Exception as error:  # noqa: BLE001  a fault of ours must end as a sentence, not as a silent thread
            return DownloadState.FAILED, _unexpected(error)
        return DownloadState.DONE, None

    def _run(self) -> None:
        check_bundle(self.bundle)
        self._set(DownloadState.CHECKING)
        if not all(file.is_pinned for file in self.bundle.files):
            self._pin()
        manifests = read_manifests(self.around.folder)
        todo = []
        for meter in self.meters:
            if is_stored(self.around.folder, manifests, meter.file):
                meter.file = known_file(manifests, meter.file) or meter.file
                meter.bytes(meter.file.size_bytes)
                meter.state(DownloadState.DONE)
            else:
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
        with self.lock:
            self.bundle = _with_files(self.bundle, tuple(meter.file for meter in self.meters))
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
        with self.lock:
            self.switch.check()
            self.bundle = _with_files(resolved, files)
            self._measure_files()
            self._write_job()

    def _measure_files(self) -> None:
        folder = self.around.folder
        self.meters = [
            FileMeter(file, min(done_bytes(folder, file), file.size_bytes or 0), self._tell)
            for file in self.bundle.files
        ]

    def _tell(self) -> None:
        with self.lock:
            if self.state is DownloadState.RUNNING:
                self.around.on_state(self.progress())

    def _transfer(self, file: RemoteFile, meter: FileMeter | None = None) -> Transfer:
        around = self.around
        report = meter or FileMeter(file, 0, lambda: None)
        return Transfer(file, around.folder, around.hub, self.switch, report, around.settings)

    def _fetch(self, meter: FileMeter) -> None:
        meter.file = self._transfer(meter.file, meter).run()
        meter.state(DownloadState.DONE)

    def _clear_away(self) -> None:
        """Delete what there is of it and nobody else needs."""
        folder = self.around.folder
        with suppress(SlipstreamError, OSError):
            write_job(folder, Job(self.bundle, DownloadState.CANCELLED))
            delete_unused(folder, self.bundle.files, but_job=self.bundle.id)
        for meter in self.meters:
            meter.bytes(0)
            meter.state(DownloadState.CANCELLED)


def _with_files(bundle: RemoteBundle, files: tuple[RemoteFile, ...]) -> RemoteBundle:
    n_target = len(bundle.target)
    return msgspec.structs.replace(bundle, target=files[:n_target], drafter=files[n_target:])


def _unwritable(folder: Path, error: OSError) -> SlipstreamError:
    return DownloadBroken(
        f"The folder for models cannot be written to: {error.strerror or 'the system refuses it'}.",
        remedy=f"Check that {folder} exists and may be written to, then retry.",
        detail=f"{type(error).__name__}: {error}",
    )


def _unexpected(error: Exception) -> SlipstreamError:
    return DownloadBroken(
        "The download ended for a reason that Slipstream did not foresee.",
        remedy="Retry; what has arrived is kept. If it happens again, please report it with the details.",
        detail=f"{type(error).__name__}: {error}",
    )
