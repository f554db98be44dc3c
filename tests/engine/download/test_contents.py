"""What arrived is looked into: no model, no download; and the header says how a drafter drafts, not its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from engine.bundles.store import file_path, read_manifest
from engine.download.contents import checked_contents, unreadable_files
from engine.download.line import Hub
from engine.download.manager import DownloadOptions
from engine.download.progress import DownloadState
from engine.errors import NotAModelFile, WrongKindOfFile
from engine.models.bundle import DrafterKind
from engine.models.facts import read_facts
from engine.models.remote import RemoteBundle, RemoteFile
from tests.engine.download.kit import HASTY, Running, bundle_of
from tests.engine.models.small_files import write_eagle3, write_model, write_projector
from tests.hub_server.server import HubServer

TARGET, DRAFTER = (RemoteFile("o/n", name, "a" * 40) for name in ("m.gguf", "mtp-m.gguf"))
PAIR = RemoteBundle("pair", "Pair", (TARGET,), DrafterKind.MTP, (DRAFTER,))


@pytest.mark.parametrize(
    ("write", "kind"), [(write_model, DrafterKind.MODEL), (write_eagle3, DrafterKind.EAGLE3)]
)
def test_a_drafter_is_of_the_kind_that_its_header_says(
    tmp_path: Path, write: Callable[[Path], Path], kind: DrafterKind
) -> None:
    write_model(file_path(tmp_path, TARGET))
    write(file_path(tmp_path, DRAFTER))
    assert checked_contents(tmp_path, PAIR, read_facts).drafter_kind is kind


def test_a_file_that_drafts_nothing_is_no_drafter(tmp_path: Path) -> None:
    write_model(file_path(tmp_path, TARGET))
    write_projector(file_path(tmp_path, DRAFTER))
    with pytest.raises(WrongKindOfFile, match=r"“mtp-m\.gguf” is an image or audio projector"):
        checked_contents(tmp_path, PAIR, read_facts)


def test_a_head_inside_is_only_where_the_header_has_one(tmp_path: Path, tiny_models: Path) -> None:
    alone = msgspec.structs.replace(PAIR, drafter=())
    path = write_model(file_path(tmp_path, TARGET))
    assert checked_contents(tmp_path, alone, read_facts).drafter_kind is DrafterKind.NGRAM
    path.write_bytes((tiny_models / "qwen35.gguf").read_bytes())
    assert checked_contents(tmp_path, alone, read_facts).drafter_kind is DrafterKind.MTP


def test_files_whose_header_cannot_be_read_are_told_apart(tmp_path: Path) -> None:
    write_model(file_path(tmp_path, TARGET))
    assert unreadable_files(tmp_path, PAIR, read_facts) == {DRAFTER}
    path = write_model(file_path(tmp_path, DRAFTER))
    assert unreadable_files(tmp_path, PAIR, read_facts) == frozenset()
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(NotAModelFile, match="cut short"):
        checked_contents(tmp_path, PAIR, read_facts)


def test_what_does_not_begin_like_a_model_fails_with_its_first_bytes(
    tmp_path: Path, hub: HubServer, source: Hub
) -> None:
    repo = hub.add("some/model", {"a.gguf": b"<html>" + b" " * (8 << 20)})
    running = Running(tmp_path, source, DownloadOptions(transfer=HASTY))
    running.downloads.download(bundle_of(repo, "a.gguf"))
    last = running.wait_for(DownloadState.FAILED)
    assert last.sentence == "“a.gguf” is not a GGUF file."
    assert last.done_bytes == 0
    assert read_manifest(tmp_path, "bundle") is None
    running.stop()
