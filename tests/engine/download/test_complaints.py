"""What users of other applications complain about; docs/complaints.md names each."""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path

import pytest

from engine.bundles.store import file_path
from engine.download.line import Hub
from engine.download.progress import DownloadState
from engine.models.remote import RemoteBundle, RemoteFile
from tests.engine.download.kit import Running, bundle_of, some_bytes
from tests.hub_server.faults import Fault, FaultKind
from tests.hub_server.repository import Repository
from tests.hub_server.server import HubServer

BODY = some_bytes(300_000, 5)


@pytest.fixture
def repo(hub: HubServer) -> Repository:
    return hub.add("some/model", {"a.gguf": BODY})


def test_a_timeout_a_resume_and_a_restart_end_without_a_checksum_error(
    running: Running, repo: Repository, hub: HubServer, folder: Path, source: Hub
) -> None:
    hub.faults.add(
        Fault(FaultKind.STALLED, after_bytes=100_000), Fault(FaultKind.STALLED, after_bytes=100_000)
    )
    running.downloads.download(bundle_of(repo, "a.gguf"))
    running.wait_for_bytes(100_000)
    running.stop()
    again = Running(folder, source)
    again.downloads.resume("bundle")
    again.wait_for(DownloadState.DONE)
    again.stop()
    assert file_path(folder, bundle_of(repo, "a.gguf").target[0]).read_bytes() == BODY
    assert hub.body_bytes <= 1.1 * len(BODY)


def test_a_connection_that_comes_back_needs_no_click(folder: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    hub = HubServer(port=port)
    repo = hub.add("some/model", {"a.gguf": BODY})
    running = Running(folder, Hub(f"http://127.0.0.1:{port}", lambda: None))
    running.downloads.download(bundle_of(repo, "a.gguf"))
    running.wait_until(lambda last: last.state is DownloadState.RUNNING or bool(last.sentence))
    with hub.running():
        running.wait_for(DownloadState.DONE)
    running.stop()
    assert file_path(folder, bundle_of(repo, "a.gguf").target[0]).read_bytes() == BODY


@pytest.mark.parametrize("kind", [FaultKind.STALLED, FaultKind.TRUNCATED])
def test_the_last_byte_comes_too(running: Running, repo: Repository, hub: HubServer, kind: FaultKind) -> None:
    hub.faults.add(Fault(kind, after_bytes=len(BODY) - 1))
    running.downloads.download(bundle_of(repo, "a.gguf"))
    running.wait_for(DownloadState.DONE)
    assert [served.range for served in hub.log if served.is_storage][-1] == "bytes=299999-299999"


def test_finishing_ends_even_where_the_file_cannot_get_its_name(
    running: Running, repo: Repository, folder: Path
) -> None:
    bundle = bundle_of(repo, "a.gguf")
    in_the_way = file_path(folder, bundle.target[0])
    in_the_way.mkdir(parents=True)
    (in_the_way / "inside").touch()
    running.downloads.download(bundle)
    assert "cannot be written" in running.wait_for(DownloadState.FAILED).sentence
    (in_the_way / "inside").unlink()
    in_the_way.rmdir()
    running.downloads.resume("bundle")
    assert running.wait_for(DownloadState.DONE).sentence == ""


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [("SSL_CERT_FILE", "/no/such/file", "certificates"), ("ALL_PROXY", "ftp://proxy:1", "proxy settings")],
)
def test_settings_that_cannot_be_used_are_not_taken_for_a_fault_of_the_folder(
    variable: str,
    value: str,
    said: str,
    running: Running,
    repo: Repository,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(variable, value)
    running.downloads.download(bundle_of(repo, "a.gguf"))
    assert said in running.wait_for(DownloadState.FAILED).sentence


def test_speed_falls_to_zero_while_nothing_comes(running: Running, repo: Repository, hub: HubServer) -> None:
    hub.bytes_per_s = 400_000
    hub.faults.add(Fault(FaultKind.STALLED, after_bytes=200_000), Fault(FaultKind.STALLED, times=2))
    running.downloads.download(bundle_of(repo, "a.gguf"))
    assert running.wait_until(lambda last: last.bytes_per_s > 0).left_s
    stalled = running.wait_for(DownloadState.STALLED)
    assert stalled.bytes_per_s == 0
    assert stalled.left_s is None
    running.wait_for(DownloadState.DONE)


def test_stopping_takes_a_moment_whatever_a_download_waits_for(
    running: Running, repo: Repository, hub: HubServer
) -> None:
    hub.api_faults.add(Fault(FaultKind.STALLED, "*/resolve/*", times=-1))
    running.downloads.download(bundle_of(repo, "a.gguf"))
    hub.seen.wait(10)
    started_s = time.monotonic()
    running.downloads.pause("bundle")
    running.wait_for(DownloadState.PAUSED)
    assert time.monotonic() - started_s < 1.0


def test_stopping_takes_a_moment_while_a_connection_is_being_made(folder: Path) -> None:
    """A listener whose queue is full answers nobody, as a network that swallows everything."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        for _ in range(3):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(address)
        running = Running(folder, Hub(f"http://127.0.0.1:{address[1]}", lambda: None))
        file = RemoteFile("some/model", "a.gguf", "0" * 40, 5, "0" * 64)
        running.downloads.download(RemoteBundle("bundle", "Bundle", (file,)))
        running.wait_for(DownloadState.WAITING, DownloadState.STALLED)
        started_s = time.monotonic()
        running.downloads.pause("bundle")
        running.wait_for(DownloadState.PAUSED)
        assert time.monotonic() - started_s < 1.0
        running.stop()
