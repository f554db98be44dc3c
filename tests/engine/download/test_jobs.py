"""What an earlier run left on disk."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import msgspec
import pytest

from engine.bundles.store import file_path
from engine.download.jobs import Job, done_bytes, forget_job, job_path, read_jobs, sweep, write_job
from engine.download.line import Hub
from engine.download.partial import held, partial_of
from engine.download.progress import DownloadState
from engine.download.switch import Stopped, Switch
from engine.models.remote import RemoteBundle, RemoteFile
from tests.engine.download.kit import Running

FILE = RemoteFile("some/model", "a.gguf", "a" * 40, 100, "b" * 64)
BUNDLE = RemoteBundle("bundle", "Bundle", (FILE,))


def _partial_bytes(folder: Path, file: RemoteFile, n_bytes: int) -> Path:
    partial = partial_of(folder, file)
    partial.path.parent.mkdir(parents=True, exist_ok=True)
    partial.path.write_bytes(b"x" * n_bytes)
    return partial.path


def test_a_job_comes_back_as_it_was_written(tmp_path: Path) -> None:
    job = Job(BUNDLE, DownloadState.FAILED, "What.", "What to do.", "Detail.")
    write_job(tmp_path, job)
    assert read_jobs(tmp_path) == (job,)
    forget_job(tmp_path, "bundle")
    forget_job(tmp_path, "bundle")
    assert read_jobs(tmp_path) == read_jobs(tmp_path / "nowhere") == ()


def test_a_job_that_is_damaged_or_names_what_leaves_the_folder_counts_as_none(tmp_path: Path) -> None:
    bad = msgspec.structs.replace(FILE, path="../../evil.gguf")
    write_job(tmp_path, Job(msgspec.structs.replace(BUNDLE, target=(bad,))))
    job_path(tmp_path, "other").write_bytes(b"{")
    assert read_jobs(tmp_path) == ()


def test_the_bytes_are_those_on_the_disk(tmp_path: Path) -> None:
    assert done_bytes(tmp_path, FILE) == 0
    _partial_bytes(tmp_path, FILE, 70)
    assert done_bytes(tmp_path, FILE) == 70
    path = file_path(tmp_path, FILE)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x" * 100)
    assert done_bytes(tmp_path, FILE) == 100


def test_sweeping_takes_only_what_nobody_needs(tmp_path: Path) -> None:
    write_job(tmp_path, Job(BUNDLE))
    needed = _partial_bytes(tmp_path, FILE, 70)
    other = msgspec.structs.replace(FILE, path="other.gguf")
    stray = _partial_bytes(tmp_path, other, 30)
    with held(partial_of(tmp_path, other), Switch(), lambda: None):
        assert sweep(tmp_path) == 0
    assert stray.exists()
    damaged = job_path(tmp_path, "damaged")
    damaged.write_bytes(b"{")
    assert sweep(tmp_path) == 0
    damaged.unlink()
    assert sweep(tmp_path) == 30
    assert needed.exists()
    assert not stray.exists()


def test_sweeping_deletes_small_files_that_a_kill_left_half_written(tmp_path: Path) -> None:
    write_job(tmp_path, Job(BUNDLE))
    old, new = (job_path(tmp_path, "bundle").with_name(f".{name}.json.1-1.new") for name in ("old", "new"))
    for path in (old, new):
        path.write_bytes(b"{")
    os.utime(old, (time.time() - 3600, time.time() - 3600))
    sweep(tmp_path)
    assert new.exists()
    assert not old.exists()


def test_a_lock_that_another_holds_is_waited_for_until_stopped(tmp_path: Path) -> None:
    partial, switch = partial_of(tmp_path, FILE), Switch()
    with (
        held(partial, Switch(), lambda: None),
        pytest.raises(Stopped),
        held(partial, switch, switch.turn_off),
    ):
        pytest.fail("two hold one lock")


@pytest.mark.skipif(sys.platform == "win32", reason="there nobody can delete a lock that another has open")
def test_two_never_hold_one_partial_whatever_is_deleted_in_between(tmp_path: Path) -> None:
    """A lock that somebody has opened must stay the one that others find."""
    partial = partial_of(tmp_path, FILE)
    _partial_bytes(tmp_path, FILE, 70)
    lock_path = partial.lock_path
    with held(partial, Switch(), lambda: None):
        before = lock_path.stat().st_ino
    assert partial.discard_if_free() == 70
    with held(partial, Switch(), lambda: None):
        assert lock_path.stat().st_ino == before
        assert partial.discard_if_free() == 0


def test_a_cancelling_that_was_cut_off_is_brought_to_its_end(tmp_path: Path) -> None:
    write_job(tmp_path, Job(BUNDLE, DownloadState.CANCELLED))
    path = _partial_bytes(tmp_path, FILE, 70)
    running = Running(tmp_path, Hub("http://127.0.0.1:9", lambda: None))
    running.wait_for(DownloadState.CANCELLED)
    running.stop()
    assert not path.exists()
    assert read_jobs(tmp_path) == ()
