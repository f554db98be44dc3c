"""Checking the catalogue against a Hub, here a local one that holds what the entries say, or not."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from engine.errors import Offline
from engine.hub.check_catalogue import check_entries, main
from engine.hub.client import HubClient
from engine.models.catalogue import CatalogueEntry, load_catalogue, parse_catalogue
from engine.models.catalogue_text import catalogue_text
from engine.models.remote import RemoteFile
from tests.hub_server.faults import Fault, FaultKind
from tests.hub_server.server import HubServer


def _hold(hub: HubServer, entries: Sequence[CatalogueEntry]) -> None:
    """Have the server hold small files under the names of all entries."""
    for file in (file for entry in entries for file in entry.bundle.files):
        if file.repo not in hub.repositories:
            hub.add(file.repo, {})
        hub.repositories[file.repo].commit({file.path: file.path.encode()})


def _unpinned(entry: CatalogueEntry) -> CatalogueEntry:
    def bare(files: Sequence[RemoteFile]) -> tuple[RemoteFile, ...]:
        return tuple(RemoteFile(file.repo, file.path) for file in files)

    bundle = entry.bundle
    bare_bundle = msgspec.structs.replace(bundle, target=bare(bundle.target), drafter=bare(bundle.drafter))
    return msgspec.structs.replace(entry, bundle=bare_bundle, rough_target_bytes=5)


def test_every_entry_is_checked_and_completed(hub: HubServer, client: HubClient) -> None:
    entries = [_unpinned(entry) for entry in load_catalogue()[-8:]]
    _hold(hub, entries)
    checks = list(check_entries(entries, client))
    assert [check.error for check in checks] == [None] * len(entries)
    assert all(check.entry.is_verified for check in checks)
    assert all(check.entry.rough_target_bytes == 0 for check in checks)
    assert all(file.is_pinned for check in checks for file in check.entry.bundle.files)
    again = list(check_entries([check.entry for check in checks], client))
    assert [check.n_completed for check in again] == [0] * len(entries)


def test_an_entry_that_differs_is_wrong_and_the_others_are_checked_all_the_same(
    hub: HubServer, client: HubClient
) -> None:
    first, second = (_unpinned(entry) for entry in load_catalogue()[:2])
    _hold(hub, (first, second))
    target = msgspec.structs.replace(first.bundle.target[0], sha256=hashlib.sha256(b"another").hexdigest())
    changed = msgspec.structs.replace(first, bundle=msgspec.structs.replace(first.bundle, target=(target,)))
    wrong, right = check_entries((changed, second), client)
    assert wrong.line.startswith(f"WRONG  {first.bundle.id}: “{target.name}” on the Hub is not the file")
    assert not wrong.entry.is_verified
    assert right.line.startswith(f"ok     {second.bundle.id}: ")
    assert right.entry.is_verified


def test_being_offline_is_no_fault_of_an_entry(hub: HubServer, client: HubClient) -> None:
    hub.api_faults.add(Fault(FaultKind.STALLED))
    with pytest.raises(Offline):
        list(check_entries(load_catalogue()[:1], client))


def test_the_command_says_what_is_wrong_and_writes_what_it_found(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    entries = load_catalogue()
    assert main([entries[0].bundle.id, "--write", str(tmp_path / "catalogue.json")]) == 1
    assert capsys.readouterr().out.startswith(f"WRONG  {entries[0].bundle.id}")
    assert parse_catalogue((tmp_path / "catalogue.json").read_bytes()) == entries


def test_a_name_that_is_not_in_the_catalogue_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["no-such-entry"])
    assert "no such entry: no-such-entry" in capsys.readouterr().err


def test_the_text_reads_back_as_the_same_entries() -> None:
    entries = load_catalogue()
    assert parse_catalogue(catalogue_text(entries).encode()) == entries
