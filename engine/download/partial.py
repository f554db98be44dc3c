"""A file on its way: its bytes so far, what they are the beginning of, and their hash."""

from __future__ import annotations

import errno
import hashlib
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import filelock
import msgspec

from engine.bundles.store import WORK_FOLDER
from engine.download.located import Located
from engine.download.switch import Switch
from engine.errors import DiskFull
from engine.json_file import read_json, write_json
from engine.long_path import long_path
from engine.models.remote import RemoteFile

READ_BYTES = 1 << 20
LOCK_POLL_S = 0.1
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class PartialRecord(msgspec.Struct, frozen=True):
    """What the bytes belong to. `etag` is the Hub's, `storage_etag` that of the server which sends them."""

    repo: str
    path: str
    revision: str
    size_bytes: int
    etag: str
    storage_etag: str = ""


@dataclass(frozen=True)
class Partial:
    """The file of bytes (`.part`), the record beside it, and the lock that one transfer at a time holds."""

    path: Path
    record_path: Path
    lock_path: Path

    @property
    def size_bytes(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def record(self) -> PartialRecord | None:
        return read_json(self.record_path, PartialRecord, None)

    def write_record(self, record: PartialRecord) -> None:
        write_json(self.record_path, record)

    def keep_only(self, located: Located) -> PartialRecord:
        """Keep what belongs to `located`, discard what belongs to another version; return the record."""
        file = located.file
        fresh = PartialRecord(file.repo, file.path, file.revision, file.size_bytes, located.etag)
        kept = self.record()
        is_same = kept is not None and msgspec.structs.replace(kept, storage_etag="") == fresh
        if kept is not None and is_same and self.size_bytes <= file.size_bytes:
            return kept
        self.discard()
        self.write_record(fresh)
        return fresh

    def discard(self) -> int:
        """Delete bytes and record; return how many bytes that freed."""
        freed_bytes = self.size_bytes
        self.path.unlink(missing_ok=True)
        self.record_path.unlink(missing_ok=True)
        return freed_bytes

    def is_held(self) -> bool:
        """Whether a process fetches it now."""
        if not self.lock_path.exists():
            return False
        try:
            with filelock.FileLock(self.lock_path).acquire(timeout=0):
                return False
        except filelock.Timeout:
            return True

    def discard_if_free(self) -> int:
        """Delete bytes and record unless another process fetches them now; return how many bytes that freed.

        The empty lock file stays: who has opened it and who made it anew would both hold a lock.
        """
        if not (self.path.exists() or self.record_path.exists()):
            return 0
        try:
            with filelock.FileLock(self.lock_path).acquire(timeout=0):
                return self.discard()
        except filelock.Timeout:
            return 0


def partial_of(folder: Path, file: RemoteFile) -> Partial:
    """Return where the bytes of `file` gather. The name says nothing, so that nobody takes it for a model."""
    place = "\0".join((file.repo, file.revision, file.path))
    return _partial(folder, hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:32])


def all_partials(folder: Path) -> tuple[Partial, ...]:
    """Return every partial of which bytes or a record lie there."""
    parts = folder / WORK_FOLDER / "parts"
    stems = {path.stem for path in parts.glob("[!.]*") if path.suffix in (".part", ".json")}
    return tuple(_partial(folder, stem) for stem in sorted(stems))


def _partial(folder: Path, stem: str) -> Partial:
    parts = folder / WORK_FOLDER / "parts"
    return Partial(*(long_path(parts / (stem + suffix)) for suffix in (".part", ".json", ".lock")))


@contextmanager
def held(partial: Partial, switch: Switch, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the partial's lock, which the system frees when a process dies.

    While another bundle, or another Slipstream, fetches the same file, `waiting` is called every 0.1 s. Raise Stopped.
    """
    partial.lock_path.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(partial.lock_path, thread_local=False)
    while True:
        switch.check()
        try:
            lock.acquire(timeout=0)
            break
        except filelock.Timeout:
            waiting()
            switch.sleep(LOCK_POLL_S)
    try:
        yield
    finally:
        lock.release()


class Digest:
    """sha256 of what was fed, and git's blob hash of it if `git_size_bytes` is the whole length."""

    def __init__(self, git_size_bytes: int = 0) -> None:
        self._sha256 = hashlib.sha256()
        self._git = hashlib.sha1(b"blob %d\0" % git_size_bytes) if git_size_bytes else None

    def feed(self, data: bytes) -> None:
        self._sha256.update(data)
        if self._git is not None:
            self._git.update(data)

    @property
    def sha256(self) -> str:
        return self._sha256.hexdigest()

    def is_of(self, located: Located) -> bool:
        if located.sha256:
            return self.sha256 == located.sha256
        return self._git is not None and self._git.hexdigest() == located.git_blob


def digest_for(located: Located) -> Digest:
    return Digest(0 if located.sha256 else located.file.size_bytes)


def feed_file(
    digest: Digest, path: Path, switch: Switch, on_read: Callable[[int], None] = lambda _n_bytes: None
) -> int:
    """Feed what `path` holds; return its length. `on_read` hears how far it is. Raise Stopped."""
    done = 0
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        return 0
    with stream:
        while data := stream.read(READ_BYTES):
            switch.check()
            digest.feed(data)
            done += len(data)
            on_read(done)
    return done


@dataclass(frozen=True)
class AppendedFile:
    """A file that grows without a buffer of our own, so that a kill loses nothing of it."""

    _stream: io.FileIO

    @classmethod
    def open(cls, path: Path) -> AppendedFile:
        return cls(io.FileIO(path, "ab"))

    def append(self, data: bytes) -> None:
        """Write all of `data`. Raise DiskFull."""
        view = memoryview(data)
        try:
            while view:
                view = view[self._stream.write(view) :]
        except OSError as error:
            raise (disk_full(error) if error.errno in NO_ROOM else error) from None

    def truncate(self) -> None:
        self._stream.truncate(0)

    def sync(self) -> None:
        """Bring everything to the disk for good. Raise OSError."""
        os.fsync(self._stream.fileno())

    def close(self) -> None:
        self._stream.close()


def disk_full(error: OSError) -> DiskFull:
    """Return the error for a write that found no room; on FAT32 that is a file of 4 GB or more."""
    if error.errno == errno.EFBIG:
        return DiskFull(
            "This disk cannot hold a file that large; the download is paused.",
            remedy="Keep models on a disk that is formatted as NTFS, exFAT, APFS or ext4, not as FAT32.",
            detail="EFBIG",
        )
    return DiskFull(
        "The disk is full; the download is paused and nothing of it is lost.",
        remedy="Free some space, then resume.",
        detail=f"{type(error).__name__}: {os.strerror(error.errno or 0)}",
    )
