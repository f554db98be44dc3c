"""A bundle as one download: begun, paused, resumed, cancelled, and back after a restart."""

from __future__ import annotations

import dataclasses
import queue
import shutil
import threading
import time
from pathlib import Path

import msgspec
import pytest
from huggingface_hub import try_to_load_from_cache

from engine.bundles.store import file_path, read_manifests
from engine.download.bundle_download import BundleDownload, Surroundings, Wanted
from engine.download.jobs import Job, read_jobs, write_job
from engine.download.line import Hub
from engine.download.manager import DownloadOptions, Downloads
from engine.download.progress import DownloadProgress, DownloadState
from engine.errors import BadOption, DiskFull, UnsafeName
from engine.models.remote import RemoteBundle
from tests.engine.download.kit import HASTY, Running, bundle_of, some_bytes
from tests.hub_server.faults import Fault, FaultKind
from tests.hub_server.repository import Repository
from tests.hub_server.server import HubServer

TARGET = some_bytes(600_000, 1)
DRAFTER = some_bytes(90_000, 2)
PAUSED, DONE, FAILED = DownloadState.PAUSED, DownloadState.DONE, DownloadState.FAILED


@pytest.fixture
def repo(hub: HubServer) -> Repository:
    return hub.add("some/model", {"a.gguf": TARGET, "MTP/d.gguf": DRAFTER, "README.md": b"# A\n"})


def _parts(folder: Path) -> list[Path]:
    return list(folder.glob(".downloads/parts/*.part"))


def test_a_bundle_arrives_whole_with_one_bar(running: Running, repo: Repository, folder: Path) -> None:
    bundle = bundle_of(repo, "a.gguf", drafter=("MTP/d.gguf",))
    running.downloads.download(bundle)
    done = running.wait_for(DONE)
    assert (done.size_bytes, done.done_bytes, done.fraction) == (690_000, 690_000, 1.0)
    assert [file.state for file in done.files] == [DONE, DONE]
    for file, content in zip(bundle.files, (TARGET, DRAFTER), strict=True):
        assert file_path(folder, file).read_bytes() == content
    assert [m.bundle for m in read_manifests(folder)] == [bundle]
    assert _parts(folder) == []
    assert read_jobs(folder) == ()
    assert running.states()[0] is DownloadState.CHECKING


def test_the_hubs_own_client_finds_what_was_downloaded(
    running: Running, repo: Repository, folder: Path
) -> None:
    running.downloads.download(bundle_of(repo, "a.gguf"))
    running.wait_for(DONE)
    found = try_to_load_from_cache("some/model", "a.gguf", cache_dir=folder)
    assert isinstance(found, str)
    assert Path(found).read_bytes() == TARGET


def test_pausing_keeps_every_byte_and_resuming_fetches_only_the_rest(
    running: Running, repo: Repository, hub: HubServer
) -> None:
    hub.bytes_per_s = 1_000_000
    running.downloads.download(bundle_of(repo, "a.gguf"))
    running.wait_for_bytes(100_000)
    running.downloads.pause("bundle")
    paused = running.wait_for(PAUSED)
    assert 0 < paused.done_bytes < len(TARGET)
    assert paused.bytes_per_s == 0
    running.downloads.resume("bundle")
    assert running.wait_for(DONE).sentence == ""
    assert hub.body_bytes <= len(TARGET) * 1.1


def test_a_restart_finds_the_download_paused_with_its_true_count_and_finishes_it(
    running: Running, repo: Repository, hub: HubServer, folder: Path, source: Hub
) -> None:
    hub.bytes_per_s = 1_000_000
    running.downloads.download(bundle_of(repo, "a.gguf", drafter=("MTP/d.gguf",)))
    running.wait_for_bytes(100_000)
    started_s = time.monotonic()
    running.stop()
    assert time.monotonic() - started_s < 1.5
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("download")]
    on_disk = sum(part.stat().st_size for part in _parts(folder))
    again = Running(folder, source)
    back = again.wait_for(PAUSED)
    assert back.done_bytes >= on_disk > 0
    again.downloads.resume("bundle")
    again.wait_for(DONE)
    again.stop()
    assert hub.body_bytes <= (len(TARGET) + len(DRAFTER)) * 1.1


def test_cancelling_deletes_what_there_was(
    running: Running, repo: Repository, hub: HubServer, folder: Path
) -> None:
    hub.bytes_per_s = 1_000_000
    running.downloads.download(bundle_of(repo, "a.gguf", drafter=("MTP/d.gguf",)))
    running.wait_for_bytes(len(DRAFTER) + 100_000)
    running.downloads.cancel("bundle")
    running.wait_for(DownloadState.CANCELLED)
    assert running.told[-2].done_bytes > 100_000  # nothing runs from 0 again on its way out
    left = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert left == []
    running.downloads.dismiss("bundle")
    assert running.downloads.progress() == ()
    with pytest.raises(BadOption):
        running.downloads.resume("bundle")


def test_cancelling_a_repeated_download_keeps_what_is_installed(
    running: Running, repo: Repository, hub: HubServer, folder: Path
) -> None:
    bundle = bundle_of(repo, "a.gguf")
    running.downloads.download(bundle)
    running.wait_for(DONE)
    more = bundle_of(repo, "a.gguf", drafter=("MTP/d.gguf",))
    hub.faults.add(Fault(FaultKind.STALLED, after_bytes=1000))
    running.downloads.download(more)
    running.wait_for_bytes(len(TARGET) + 1000)
    running.downloads.cancel("bundle")
    running.wait_for(DownloadState.CANCELLED)
    assert file_path(folder, bundle.target[0]).read_bytes() == TARGET


def test_two_bundles_that_share_a_file_fetch_it_once(
    running: Running, repo: Repository, hub: HubServer, folder: Path
) -> None:
    hub.bytes_per_s = 2_000_000
    running.downloads.download(bundle_of(repo, "a.gguf", bundle_id="plain"))
    running.downloads.download(bundle_of(repo, "a.gguf", drafter=("MTP/d.gguf",), bundle_id="with-drafter"))
    running.wait_for(DONE, download_id="plain")
    running.wait_for(DONE, download_id="with-drafter")
    assert hub.body_bytes == len(TARGET) + len(DRAFTER)
    assert {m.bundle.id for m in read_manifests(folder)} == {"plain", "with-drafter"}


def test_cancelling_one_of_two_that_share_a_file_leaves_it_to_the_other(
    running: Running, repo: Repository, hub: HubServer
) -> None:
    hub.bytes_per_s = 1_000_000
    running.downloads.download(bundle_of(repo, "a.gguf", bundle_id="one"))
    running.wait_for_bytes(100_000, "one")
    running.downloads.download(bundle_of(repo, "a.gguf", bundle_id="two"))
    running.wait_for_bytes(100_000, "two")
    running.downloads.cancel("one")
    running.wait_for(DownloadState.CANCELLED, download_id="one")
    running.wait_for(DONE, download_id="two")
    assert hub.body_bytes <= len(TARGET) * 1.1


def test_what_is_here_already_is_not_fetched_again(
    running: Running, repo: Repository, hub: HubServer
) -> None:
    running.downloads.download(bundle_of(repo, "a.gguf", bundle_id="first"))
    running.wait_for(DONE, download_id="first")
    hub.clear_log()
    running.downloads.download(bundle_of(repo, "a.gguf", bundle_id="second"))
    running.wait_for(DONE, download_id="second")
    assert hub.log == ()


def test_files_that_are_not_pinned_are_resolved_first_and_stay_at_that_commit(
    folder: Path, source: Hub, repo: Repository, hub: HubServer
) -> None:
    asked: list[str] = []

    def resolve(bundle: RemoteBundle) -> RemoteBundle:
        asked.append(bundle.id)
        return bundle

    running = Running(folder, source, DownloadOptions(resolve=resolve, read_facts=None, transfer=HASTY))
    hub.bytes_per_s = 1_000_000
    running.downloads.download(bundle_of(repo, "a.gguf", "README.md", pinned=False))
    running.wait_for_bytes(100_000)
    running.downloads.pause("bundle")
    running.wait_for(PAUSED)
    before = repo.head.sha
    repo.commit({"a.gguf": some_bytes(600_000, 9)})
    running.downloads.resume("bundle")
    done = running.wait_for(DONE)
    running.stop()
    assert asked == ["bundle"] or asked == ["bundle", "bundle"]
    assert {file.revision for file in done.bundle.files} == {before}
    assert all(file.is_pinned for file in read_manifests(folder)[0].files)
    assert file_path(folder, done.bundle.target[0]).read_bytes() == TARGET


@pytest.mark.parametrize("sha", ["nul.txt", "../../../up", "main-of-it"])
def test_a_commit_that_is_none_is_not_taken_from_the_server(
    running: Running, repo: Repository, hub: HubServer, folder: Path, sha: str
) -> None:
    repo.commits[-1] = dataclasses.replace(repo.head, sha=sha)
    repo.branches["main"] = sha
    running.downloads.download(bundle_of(repo, "a.gguf", pinned=False))
    assert "could not be checked" in running.wait_for(FAILED).sentence
    assert hub.body_bytes == 0
    assert [job.bundle.target[0].revision for job in read_jobs(folder)] == ["main"]


def test_a_pinned_file_that_changed_is_refused_before_any_byte(
    running: Running, repo: Repository, hub: HubServer
) -> None:
    bundle = bundle_of(repo, "a.gguf")
    wrong = msgspec.structs.replace(bundle.target[0], sha256="0" * 64)
    running.downloads.download(msgspec.structs.replace(bundle, target=(wrong,)))
    failed = running.wait_for(FAILED)
    assert "changed since it was checked" in failed.sentence
    assert failed.remedy
    assert hub.body_bytes == 0
    running.downloads.download(bundle)
    running.wait_for(DONE)


def test_a_failed_download_can_be_retried_and_its_sentence_goes(
    running: Running, repo: Repository, hub: HubServer
) -> None:
    hub.faults.add(Fault(FaultKind.STATUS, status=503, times=-1))
    running.downloads.download(bundle_of(repo, "a.gguf"))
    assert "trouble" in running.wait_for(FAILED).sentence
    hub.faults.clear()
    running.downloads.resume("bundle")
    assert running.wait_for(DONE).sentence == ""


def test_a_failure_is_still_told_after_a_restart(
    running: Running, repo: Repository, hub: HubServer, folder: Path, source: Hub
) -> None:
    repo.gated = "manual"
    running.downloads.download(bundle_of(repo, "a.gguf"))
    told = running.wait_for(FAILED)
    assert "terms" in told.sentence
    assert hub.endpoint + "/some/model" in told.remedy
    running.stop()
    again = Running(folder, source)
    assert again.wait_for(FAILED).sentence == told.sentence
    again.downloads.dismiss("bundle")
    assert again.downloads.progress() == ()
    again.stop()


def test_a_stall_is_told_with_speed_zero_and_gone_when_bytes_come_again(
    running: Running, repo: Repository, hub: HubServer
) -> None:
    hub.faults.add(
        Fault(FaultKind.STALLED, after_bytes=200_000), Fault(FaultKind.STATUS, status=503, times=3)
    )
    running.downloads.download(bundle_of(repo, "a.gguf"))
    done = running.wait_for(DONE)
    stalled = [told for told in running.told if told.state is DownloadState.STALLED]
    assert stalled
    assert all(told.bytes_per_s == 0 and told.sentence and told.left_s is None for told in stalled)
    states = running.states()
    assert states.index(DownloadState.STALLED) < len(states) - 1
    assert done.sentence == ""
    assert hub.body_bytes <= len(TARGET) * 1.1


def test_no_more_than_four_tellings_a_second_while_bytes_come(
    running: Running, repo: Repository, hub: HubServer
) -> None:
    hub.bytes_per_s = 500_000
    started_s = time.monotonic()
    running.downloads.download(bundle_of(repo, "a.gguf"))
    running.wait_for(DONE)
    n_changes = len(running.states())
    running_ones = [told for told in running.told if told.state is DownloadState.RUNNING]
    assert 3 <= len(running_ones) <= 4 * (time.monotonic() - started_s) + n_changes
    assert any(told.bytes_per_s > 0 and told.left_s for told in running_ones)


def test_room_is_checked_over_all_downloads_before_and_while_they_run(
    folder: Path, source: Hub, repo: Repository, hub: HubServer
) -> None:
    free = [256 << 20]
    options = DownloadOptions(read_facts=None, transfer=HASTY, free_bytes=lambda _folder: free[0])
    running = Running(folder, source, options)
    running.downloads.download(bundle_of(repo, "a.gguf"))
    paused = running.wait_for(PAUSED)
    assert "not enough room" in paused.sentence
    assert hub.body_bytes == 0
    free[0] = (256 << 20) + len(TARGET)
    hub.bytes_per_s = 100_000
    running.downloads.resume("bundle")
    running.wait_for(DownloadState.RUNNING)
    # The room is enough for the first one only.
    running.downloads.download(bundle_of(repo, "MTP/d.gguf", bundle_id="second"))
    assert "not enough room" in running.wait_for(PAUSED, download_id="second").sentence
    free[0] = 0
    assert "not enough room" in running.wait_for(PAUSED).sentence
    free[0] = 1 << 40
    hub.bytes_per_s = 0
    running.downloads.resume("bundle")
    assert running.wait_for(DONE).sentence == ""
    running.stop()


def test_why_a_download_pauses_is_told_even_if_it_was_only_just_beginning(
    folder: Path, source: Hub, repo: Repository
) -> None:
    told: queue.SimpleQueue[DownloadProgress] = queue.SimpleQueue()

    def check_room() -> None:
        download.pause(DiskFull("The room went."))

    slots = threading.BoundedSemaphore(1)
    around = Surroundings(folder, source, HASTY, slots, 1, lambda bundle: bundle, None, check_room, told.put)
    download = BundleDownload(bundle_of(repo, "a.gguf"), around)
    download.want(Wanted.RUN)
    while (last := told.get(timeout=20)).state is not PAUSED:
        pass
    assert last.sentence == "The room went."


def test_nobody_waits_for_what_a_download_writes_down(
    running: Running, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_go_on = threading.Event(), threading.Event()

    def write_slowly(folder: Path, job: Job) -> None:
        begun.set()
        may_go_on.wait(20)
        write_job(folder, job)

    monkeypatch.setattr("engine.download.bundle_download.write_job", write_slowly)
    running.downloads.download(bundle_of(repo, "a.gguf"))
    assert begun.wait(20)

    def ask() -> None:
        running.downloads.progress()
        running.downloads.pause("bundle")

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join(5)
    did_wait = thread.is_alive()
    may_go_on.set()
    assert not did_wait
    running.wait_for(PAUSED)


def test_a_listener_that_fails_is_told_what_comes_next(folder: Path, source: Hub, repo: Repository) -> None:
    told: queue.SimpleQueue[DownloadProgress] = queue.SimpleQueue()

    def hear(progress: DownloadProgress) -> None:
        told.put(progress)
        raise RuntimeError("a mistake in the listener")

    downloads = Downloads(folder, source, DownloadOptions(read_facts=None, transfer=HASTY))
    downloads.start(hear)
    downloads.download(bundle_of(repo, "a.gguf"))
    while told.get(timeout=20).state is not DONE:
        pass
    downloads.stop()


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path, source: Hub, repo: Repository) -> None:
    (tmp_path / "file").write_bytes(b"not a folder")
    running = Running(tmp_path / "file" / "models", source)
    running.downloads.download(bundle_of(repo, "a.gguf"))
    failed = running.wait_for(FAILED)
    assert "cannot be written" in failed.sentence
    running.stop()


def test_names_that_would_leave_the_folder_are_refused(running: Running, repo: Repository) -> None:
    bundle = bundle_of(repo, "a.gguf")
    bad = msgspec.structs.replace(bundle.target[0], path="../../a.gguf")
    with pytest.raises(UnsafeName):
        running.downloads.download(msgspec.structs.replace(bundle, target=(bad,)))


def test_an_update_of_a_bundle_deletes_what_it_replaces(
    running: Running, repo: Repository, folder: Path
) -> None:
    old = bundle_of(repo, "a.gguf", drafter=("MTP/d.gguf",))
    running.downloads.download(old)
    running.wait_for(DONE)
    repo.commit({"a.gguf": b"newer"})
    new = bundle_of(repo, "a.gguf")
    running.downloads.download(new)
    running.wait_until(lambda last: last.state is DONE and last.bundle == new)
    assert sorted(folder.rglob("*.gguf")) == [file_path(folder, new.target[0])]


def test_leftovers_that_no_download_speaks_for_are_swept(folder: Path, source: Hub, repo: Repository) -> None:
    first = Running(folder, source)
    first.downloads.download(bundle_of(repo, "a.gguf"))
    first.wait_for(DONE)
    first.stop()
    stray = folder / ".downloads" / "parts" / "stray.part"
    stray.write_bytes(b"stray")
    Running(folder, source).stop()
    assert not stray.exists()
    shutil.rmtree(folder)


def test_a_folder_that_cannot_be_made_is_told_as_that(tmp_path: Path, repo: Repository, source: Hub) -> None:
    (tmp_path / "file").write_text("")
    running = Running(tmp_path / "file" / "models", source)
    running.downloads.download(bundle_of(repo, "a.gguf"))
    last = running.wait_for(DownloadState.FAILED)
    assert last.sentence.startswith("The folder for models cannot be written to: ")
    assert str(tmp_path / "file" / "models") in last.remedy
    running.stop()
