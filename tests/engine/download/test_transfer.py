"""One file: every way in which it can go wrong on the way, and what comes of it."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from engine.atomic_file import replace_patiently
from engine.bundles.store import file_path
from engine.download import filling
from engine.download.line import Hub
from engine.download.partial import PartialRecord, partial_of
from engine.download.progress import DownloadState
from engine.download.switch import Stopped, Switch
from engine.download.transfer import Transfer, TransferSettings
from engine.errors import (
    ChangedOnHub,
    DamagedDownload,
    DiskFull,
    HubTrouble,
    Offline,
    SlipstreamError,
)
from engine.models.remote import RemoteFile
from tests.engine.download.kit import HASTY, remote_file, some_bytes
from tests.hub_server.faults import Fault, FaultKind
from tests.hub_server.repository import Repository
from tests.hub_server.server import HubServer

BODY = some_bytes(200_000)
PATIENT = TransferSettings(stall_s=20.0)


class Notes:
    """A report that remembers."""

    def __init__(self) -> None:
        self.states: list[DownloadState] = []
        self.sentences: list[str] = []
        self.done: list[int] = []

    def state(self, state: DownloadState, sentence: str = "") -> None:
        self.states.append(state)
        self.sentences.append(sentence)

    def bytes(self, done_bytes: int, fetched_bytes: int = 0) -> None:
        del fetched_bytes
        self.done.append(done_bytes)


Make = Callable[..., Transfer]


@pytest.fixture
def repo(hub: HubServer) -> Repository:
    return hub.add("some/model", {"a.gguf": BODY, "config.json": b'{"a": 1}'})


@pytest.fixture
def make(folder: Path, source: Hub, repo: Repository) -> Make:
    def made(
        file: RemoteFile | None = None,
        *,
        switch: Switch | None = None,
        notes: Notes | None = None,
        settings: TransferSettings = HASTY,
        hub: Hub = source,
    ) -> Transfer:
        file = file or remote_file(repo, "a.gguf")
        return Transfer(file, folder, hub, switch or Switch(), notes or Notes(), settings)

    return made


def _running(transfer: Transfer) -> threading.Thread:
    """Run `transfer` on a thread that takes being stopped for its end."""

    def run() -> None:
        with suppress(Stopped):
            transfer.run()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def _interrupted(make: Make, hub: HubServer, at: int) -> None:
    """Leave a partial of `at` bytes; the transfer is cut while no byte comes."""
    hub.faults.add(Fault(FaultKind.STALLED, after_bytes=at))
    switch, notes = Switch(), Notes()
    thread = _running(make(switch=switch, notes=notes, settings=PATIENT))
    deadline_s = time.monotonic() + 10
    while notes.done[-1:] != [at] and time.monotonic() < deadline_s:
        time.sleep(0.01)
    switch.turn_off()
    thread.join(1.0)
    assert not thread.is_alive()
    hub.clear_log()


def _is_whole(folder: Path, file: RemoteFile) -> bool:
    return file_path(folder, file).read_bytes() == BODY


SURVIVED = [
    Fault(FaultKind.RESET, after_bytes=70_000),
    Fault(FaultKind.RESET, after_bytes=0),
    Fault(FaultKind.TRUNCATED, after_bytes=199_999),
    Fault(FaultKind.STALLED, after_bytes=70_000),
    Fault(FaultKind.SHORT_LENGTH, after_bytes=70_000),
    Fault(FaultKind.LONG_LENGTH, after_bytes=5000),
    Fault(FaultKind.SLOW, after_bytes=150_000, bytes_per_s=200_000),
    Fault(FaultKind.NO_ETAG),
    Fault(FaultKind.STATUS, status=500, times=2),
    Fault(FaultKind.STATUS, status=403),
    Fault(FaultKind.STATUS, status=429, retry_after="0.1"),
]


@pytest.mark.parametrize(
    "fault", SURVIVED, ids=lambda fault: f"{fault.kind} {fault.after_bytes} {fault.status}"
)
def test_a_fault_costs_no_byte_twice(
    make: Make, hub: HubServer, repo: Repository, folder: Path, fault: Fault
) -> None:
    hub.faults.add(fault)
    fetched = make().run()
    assert _is_whole(folder, fetched)
    assert len(BODY) <= hub.body_bytes <= len(BODY) * 1.02 + 100


@pytest.mark.parametrize("kind", [FaultKind.WHOLE, FaultKind.CHANGED])
def test_an_answer_that_does_not_continue_what_is_here_is_asked_for_again(
    make: Make, hub: HubServer, folder: Path, repo: Repository, kind: FaultKind
) -> None:
    _interrupted(make, hub, 100_000)
    hub.faults.add(Fault(kind))
    assert _is_whole(folder, make().run())
    ranges = [served.range for served in hub.log if served.is_storage]
    assert ranges == ["bytes=100000-199999"] * 2


def test_a_server_that_knows_no_ranges_is_read_from_the_start(
    make: Make, hub: HubServer, folder: Path
) -> None:
    _interrupted(make, hub, 100_000)
    hub.faults.add(Fault(FaultKind.WHOLE, times=-1))
    assert _is_whole(folder, make().run())


def test_two_versions_are_never_joined(make: Make, hub: HubServer, folder: Path, repo: Repository) -> None:
    """The storage goes on sending another version: nothing of it gets the file's name."""
    _interrupted(make, hub, 100_000)
    hub.faults.add(Fault(FaultKind.CHANGED, times=-1))
    with pytest.raises(DamagedDownload) as caught:
        make().run()
    assert caught.value.remedy
    assert not file_path(folder, remote_file(repo, "a.gguf")).exists()


def test_wrong_bytes_cost_one_more_try_and_then_a_sentence(
    make: Make, hub: HubServer, folder: Path, repo: Repository
) -> None:
    hub.faults.add(Fault(FaultKind.WRONG_BYTES, after_bytes=1234))
    assert _is_whole(folder, make().run())
    file_path(folder, remote_file(repo, "a.gguf")).unlink()
    hub.faults.add(Fault(FaultKind.WRONG_BYTES, after_bytes=1234, times=-1))
    with pytest.raises(DamagedDownload, match="damaged twice"):
        make().run()
    assert not file_path(folder, remote_file(repo, "a.gguf")).exists()
    assert partial_of(folder, remote_file(repo, "a.gguf")).size_bytes == 0


def test_a_resumed_file_is_hashed_whole(make: Make, hub: HubServer, folder: Path, repo: Repository) -> None:
    _interrupted(make, hub, 100_000)
    partial = partial_of(folder, remote_file(repo, "a.gguf"))
    damaged = bytearray(partial.path.read_bytes())
    damaged[50] ^= 1
    partial.path.write_bytes(damaged)
    assert _is_whole(folder, make().run())
    assert hub.body_bytes == 100_000 + len(BODY)


def test_a_partial_of_another_version_is_thrown_away(
    make: Make, hub: HubServer, folder: Path, repo: Repository
) -> None:
    _interrupted(make, hub, 100_000)
    partial = partial_of(folder, remote_file(repo, "a.gguf"))
    record = partial.record()
    assert record is not None
    partial.write_record(msgspec.structs.replace(record, etag="another"))
    assert _is_whole(folder, make().run())
    assert [served.range for served in hub.log if served.is_storage] == [""]


def test_what_another_process_wrote_into_the_partial_never_gets_the_files_name(
    make: Make, folder: Path, repo: Repository
) -> None:
    """As where a lock does not hold, on some network drives."""
    file = remote_file(repo, "a.gguf")
    partial = partial_of(folder, file)

    class Intruder(Notes):
        def bytes(self, done_bytes: int, fetched_bytes: int = 0) -> None:
            super().bytes(done_bytes, fetched_bytes)
            if fetched_bytes and done_bytes == len(BODY) and DownloadState.STALLED not in self.states:
                with partial.path.open("ab") as stream:
                    stream.write(b"more")

    notes = Intruder()
    make(notes=notes).run()
    assert DownloadState.STALLED in notes.states
    assert file_path(folder, file).read_bytes() == BODY


def test_a_partial_never_has_a_models_name(make: Make, hub: HubServer, folder: Path) -> None:
    _interrupted(make, hub, 100_000)
    names = [path.name for path in folder.rglob("*") if path.is_file()]
    assert names
    assert not [name for name in names if "gguf" in name]


def test_a_pause_takes_effect_while_no_byte_comes(
    make: Make, hub: HubServer, folder: Path, repo: Repository
) -> None:
    _interrupted(make, hub, 1000)
    assert partial_of(folder, remote_file(repo, "a.gguf")).size_bytes == 1000


def test_a_small_file_without_a_sha256_is_checked_by_gits_hash(
    make: Make, hub: HubServer, repo: Repository, folder: Path
) -> None:
    file = remote_file(repo, "config.json")
    assert file.sha256 == ""
    fetched = make(file).run()
    assert fetched.sha256 == hashlib.sha256(b'{"a": 1}').hexdigest()
    file_path(folder, file).unlink()
    hub.faults.add(Fault(FaultKind.WRONG_BYTES, times=-1))
    with pytest.raises(DamagedDownload):
        make(file).run()


def test_a_file_that_already_has_its_name_is_proved_or_replaced(
    make: Make, hub: HubServer, repo: Repository, folder: Path
) -> None:
    path = file_path(folder, make().run())
    hub.clear_log()
    make().run()
    assert hub.body_bytes == 0
    path.write_bytes(BODY[:-1] + b"x")
    make().run()
    assert path.read_bytes() == BODY


def test_a_stall_is_told_and_a_new_connection_made(make: Make, hub: HubServer) -> None:
    hub.faults.add(Fault(FaultKind.STALLED, after_bytes=5000))
    notes = Notes()
    make(notes=notes).run()
    at = notes.states.index(DownloadState.STALLED)
    assert "No data is coming" in notes.sentences[at]
    assert notes.states[-1] is DownloadState.RUNNING


def test_the_hub_says_how_long_to_wait_and_is_waited_for(make: Make, hub: HubServer) -> None:
    hub.api_faults.add(Fault(FaultKind.STATUS, "*/resolve/*", status=429, retry_after="1"))
    notes = Notes()
    started_s = time.monotonic()
    make(notes=notes).run()
    assert time.monotonic() - started_s >= 1.0
    assert notes.sentences[0] == "The Hub asks to wait 1 s."


def test_trouble_that_does_not_end_is_a_sentence_and_keeps_what_came(
    make: Make, hub: HubServer, repo: Repository, folder: Path
) -> None:
    _interrupted(make, hub, 100_000)
    hub.faults.add(Fault(FaultKind.RESET, times=-1))
    with pytest.raises(Offline, match="cannot be reached"):
        make().run()
    hub.faults.clear()
    hub.clear_log()
    make().run()
    assert hub.body_bytes == 100_000


def test_a_hub_that_is_not_there_is_tried_again_and_then_a_sentence(make: Make) -> None:
    notes = Notes()
    with pytest.raises(Offline, match="cannot be reached"):
        make(notes=notes, hub=Hub("http://127.0.0.1:9", lambda: None)).run()
    assert notes.sentences[0] == "The Hub cannot be reached; trying again."


def test_the_token_goes_to_the_hub_and_nowhere_else(make: Make, hub: HubServer, repo: Repository) -> None:
    hub.users["hf_ann"] = "ann"
    repo.gated = "auto"
    repo.readers.add("ann")
    make(hub=Hub(hub.endpoint, lambda: "hf_ann")).run()
    assert all(served.has_token != served.is_storage for served in hub.log)


@pytest.mark.parametrize(
    ("gate", "token", "path", "words"),
    [
        ("manual", "", "a.gguf", "accept its terms first"),
        ("manual", "hf_bob", "a.gguf", "no access"),
        ("", "hf_wrong", "a.gguf", "does not accept the token"),
        ("", "", "gone.gguf", "does not hold this any more"),
    ],
)
def test_a_refusal_is_a_sentence_at_once(
    make: Make, hub: HubServer, repo: Repository, gate: str, token: str, path: str, words: str
) -> None:
    hub.users["hf_bob"] = "bob"
    repo.gated = gate
    file = RemoteFile(repo.id, path, repo.head.sha, len(BODY))
    with pytest.raises(SlipstreamError, match=words) as caught:
        make(file, hub=Hub(hub.endpoint, lambda: token or None)).run()
    assert caught.value.remedy
    assert len(hub.log) == 1


@pytest.mark.parametrize(
    ("repo_id", "revision", "words"),
    [
        ("some/nothing", "0" * 40, "no repository “some/nothing”"),
        ("some/model", "0" * 40, "does not hold this any more"),
    ],
)
def test_what_is_not_there_is_a_sentence(make: Make, repo_id: str, revision: str, words: str) -> None:
    with pytest.raises(SlipstreamError, match=words):
        make(RemoteFile(repo_id, "a.gguf", revision, 5)).run()


def test_a_changed_size_is_refused_before_any_byte(make: Make, hub: HubServer, repo: Repository) -> None:
    file = msgspec.structs.replace(remote_file(repo, "a.gguf"), size_bytes=len(BODY) + 1, sha256="")
    with pytest.raises(ChangedOnHub):
        make(file).run()
    assert hub.body_bytes == 0


def test_a_disk_that_fills_up_pauses_with_a_sentence(make: Make, folder: Path, repo: Repository) -> None:
    """/dev/full is a file that has no room, as the real thing has none."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    partial = partial_of(folder, remote_file(repo, "a.gguf"))
    partial.path.parent.mkdir(parents=True)
    partial.path.symlink_to("/dev/full")
    file = remote_file(repo, "a.gguf")
    partial.write_record(PartialRecord(file.repo, file.path, file.revision, file.size_bytes, file.sha256))
    with pytest.raises(DiskFull, match="disk is full"):
        make().run()


def test_errors_say_what_and_what_to_do(make: Make, hub: HubServer) -> None:
    hub.faults.add(Fault(FaultKind.STATUS, status=500, times=-1))
    with pytest.raises(HubTrouble) as caught:
        make().run()
    assert caught.value.sentence
    assert caught.value.remedy
    assert "500" in caught.value.detail
    assert "Signature" not in caught.value.detail


def test_a_sign_in_page_in_place_of_the_file_is_waited_out(make: Make, hub: HubServer, folder: Path) -> None:
    page = Fault(FaultKind.STATUS, "*/resolve/*", status=200, content_type="text/html", times=2)
    hub.api_faults.add(page)
    notes = Notes()
    assert _is_whole(folder, make(notes=notes).run())
    assert "Something else answers" in notes.sentences[0]


def test_nothing_is_asked_where_the_network_is_forbidden(
    make: Make, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(Offline, match="not to use the network"):
        make().run()
    assert hub.log == ()


def test_requests_for_a_very_large_file_are_bounded(
    make: Make, hub: HubServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "MAX_REQUEST_BYTES", 80_000)
    assert _is_whole(folder, make().run())
    ranges = [served.range for served in hub.log if served.is_storage]
    assert ranges == ["bytes=0-79999", "bytes=80000-159999", "bytes=160000-199999"]


@pytest.mark.parametrize("retry_after", ["Wed, 21 Oct 2015 07:28:00 GMT", "nan", "-inf", "soon"])
def test_a_wait_that_the_hub_asks_for_may_be_a_date_or_nonsense(
    make: Make, hub: HubServer, retry_after: str
) -> None:
    hub.api_faults.add(Fault(FaultKind.STATUS, "*/resolve/*", status=503, retry_after=retry_after))
    notes = Notes()
    make(notes=notes).run()
    assert "trouble of its own; trying again" in notes.sentences[0]


def test_the_folder_may_go_while_the_file_gets_its_name(
    make: Make, folder: Path, repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when another bundle of the repository is removed at that moment."""
    target = file_path(folder, remote_file(repo, "a.gguf"))
    replaced: list[Path] = []

    def replace(source: Path, to: Path) -> None:
        if not replaced:
            to.parent.rmdir()
        replaced.append(to)
        replace_patiently(source, to)

    monkeypatch.setattr("engine.download.transfer.replace_patiently", replace)
    make().run()
    assert target.read_bytes() == BODY
    assert replaced == [target, target]
