"""Pinning: what is missing is filled in, what differs is refused."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from engine.errors import Cancelled, ChangedOnHub, RepositoryNotFound
from engine.hub.client import HubClient
from engine.hub.resolve import resolve_bundle
from engine.models.bundle import DrafterKind
from engine.models.remote import RemoteBundle, RemoteFile
from tests.engine.hub.conftest import requests_of
from tests.hub_server.repository import Repository
from tests.hub_server.server import HubServer

TARGET, DRAFTER = b"target" * 20, b"drafter" * 3


@pytest.fixture
def repo(hub: HubServer) -> Repository:
    hub.add("c/drafters-GGUF", {"d-DFlash.gguf": DRAFTER})
    return hub.add(
        "a/m-GGUF",
        {"m-Q4_0.gguf": TARGET, "mtp-m.gguf": DRAFTER},
        tags=["license:mit"],
        gguf={"context_length": 4096},
    )


def _bundle(target: RemoteFile, *drafter: RemoteFile) -> RemoteBundle:
    return RemoteBundle("m", "M", (target,), DrafterKind.MTP, drafter)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_an_unpinned_bundle_is_completed(repo: Repository, client: HubClient) -> None:
    bundle = _bundle(RemoteFile("a/m-GGUF", "m-Q4_0.gguf"), RemoteFile("c/drafters-GGUF", "d-DFlash.gguf"))
    resolved = resolve_bundle(bundle, client)
    assert all(file.is_pinned for file in resolved.files)
    assert resolved.target == (
        RemoteFile("a/m-GGUF", "m-Q4_0.gguf", repo.head.sha, len(TARGET), _sha256(TARGET)),
    )
    assert resolved.size_bytes == len(TARGET) + len(DRAFTER)
    assert (resolved.licence, resolved.n_ctx_train, resolved.is_gated) == ("mit", 4096, False)
    assert resolve_bundle(resolved, client) == resolved


def test_files_of_one_repository_are_asked_for_together(
    hub: HubServer, repo: Repository, client: HubClient
) -> None:
    resolve_bundle(
        _bundle(RemoteFile("a/m-GGUF", "m-Q4_0.gguf"), RemoteFile("a/m-GGUF", "mtp-m.gguf")), client
    )
    assert [served.method for served in requests_of(hub, 2)] == ["GET", "POST"]


def test_an_older_commit_stays_what_it_was(repo: Repository, client: HubClient) -> None:
    first = repo.head.sha
    repo.commit({"m-Q4_0.gguf": b"another"})
    pinned = RemoteFile("a/m-GGUF", "m-Q4_0.gguf", first, len(TARGET), _sha256(TARGET))
    assert resolve_bundle(_bundle(pinned), client).target == (pinned,)


@pytest.mark.parametrize(
    "stated", [{"size_bytes": len(TARGET)}, {"sha256": _sha256(TARGET)}], ids=["size", "sha256"]
)
def test_a_file_that_changed_under_its_name_is_refused(
    repo: Repository, client: HubClient, stated: dict[str, int | str]
) -> None:
    file = msgspec.structs.replace(RemoteFile("a/m-GGUF", "m-Q4_0.gguf"), **stated)
    assert resolve_bundle(_bundle(file), client).target[0].is_pinned
    repo.commit({"m-Q4_0.gguf": TARGET + b"!"})
    with pytest.raises(ChangedOnHub, match="on the Hub is not the file that was checked") as caught:
        resolve_bundle(_bundle(file), client)
    assert next(iter(stated)).removesuffix("_bytes") in caught.value.detail


def test_a_file_that_is_gone_is_told(repo: Repository, client: HubClient) -> None:
    repo.commit({"m-Q4_0.gguf": None})
    with pytest.raises(ChangedOnHub, match="is not in “a/m-GGUF” any more"):
        resolve_bundle(_bundle(RemoteFile("a/m-GGUF", "m-Q4_0.gguf")), client)


def test_a_history_that_was_rewritten_is_told(repo: Repository, client: HubClient) -> None:
    with pytest.raises(ChangedOnHub, match="published anew"):
        resolve_bundle(_bundle(RemoteFile("a/m-GGUF", "m-Q4_0.gguf", "0" * 40)), client)


@pytest.mark.parametrize("revision", ["main", "0" * 40])
def test_a_repository_that_is_gone_is_told_as_such(client: HubClient, revision: str) -> None:
    with pytest.raises(RepositoryNotFound, match="or it is private"):
        resolve_bundle(_bundle(RemoteFile("a/gone", "m-Q4_0.gguf", revision)), client)


def test_a_gate_that_came_later_is_noticed(hub: HubServer, repo: Repository, client: HubClient) -> None:
    repo.gated = "auto"
    assert resolve_bundle(_bundle(RemoteFile("a/m-GGUF", "m-Q4_0.gguf")), client).is_gated


def test_a_mirror_that_tells_no_sha256_leaves_the_stated_one(hub: HubServer, client: HubClient) -> None:
    hub.add("a/small-GGUF", {"config.json": b"{}"})  # no LFS file: the Hub has no sha256 of it
    stated = RemoteFile("a/small-GGUF", "config.json", sha256=_sha256(b"{}"))
    (file,) = resolve_bundle(_bundle(stated), client).target
    assert (file.size_bytes, file.sha256) == (2, stated.sha256)


def test_it_stops_between_two_requests(hub: HubServer, repo: Repository, client: HubClient) -> None:
    asked = iter([False, True])
    with pytest.raises(Cancelled):
        resolve_bundle(_bundle(RemoteFile("a/m-GGUF", "m-Q4_0.gguf")), client, lambda: next(asked))
    assert len(requests_of(hub, 1)) == 1
