"""Deleting frees what it says and harms no other bundle."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from engine.bundles.store import file_path, manifest_path, read_manifests, repo_folder, write_manifest
from engine.download.jobs import Job, job_path, write_job
from engine.download.partial import partial_of
from engine.download.remove import remove_bundle
from engine.errors import BadOption, FileInUse, UnreadableRecord
from engine.models.bundle import DrafterKind
from engine.models.remote import RemoteBundle, RemoteFile

COMMIT, OTHER = "a" * 40, "b" * 40


def _file(folder: Path, path: str, content: bytes, revision: str = COMMIT) -> RemoteFile:
    digest = hashlib.sha256(content).hexdigest()
    file = RemoteFile("some/model", path, revision, len(content), digest)
    place = file_path(folder, file)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return file


@pytest.fixture
def target(tmp_path: Path) -> RemoteFile:
    return _file(tmp_path, "a.gguf", b"t" * 3000)


@pytest.fixture
def drafter(tmp_path: Path) -> RemoteFile:
    return _file(tmp_path, "MTP/d.gguf", b"d" * 500)


@pytest.fixture
def bundle(tmp_path: Path, target: RemoteFile, drafter: RemoteFile) -> RemoteBundle:
    made = RemoteBundle("both", "Both", (target,), DrafterKind.MODEL, (drafter,))
    write_manifest(tmp_path, made)
    return made


def _total_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.gguf"))


def test_removing_frees_what_it_says_and_leaves_no_trace(tmp_path: Path, bundle: RemoteBundle) -> None:
    before = _total_bytes(tmp_path)
    assert remove_bundle(tmp_path, bundle.id) == before - _total_bytes(tmp_path) == 3500
    assert not repo_folder(tmp_path, "some/model").exists()
    assert read_manifests(tmp_path) == ()
    with pytest.raises(BadOption):
        remove_bundle(tmp_path, bundle.id)


def test_a_file_that_another_bundle_uses_stays_until_that_one_goes(
    tmp_path: Path, bundle: RemoteBundle, target: RemoteFile
) -> None:
    write_manifest(tmp_path, RemoteBundle("plain", "Plain", (target,)))
    assert remove_bundle(tmp_path, bundle.id) == 500
    assert file_path(tmp_path, target).exists()
    assert remove_bundle(tmp_path, "plain") == 3000


def test_a_file_that_a_running_download_counts_on_stays(
    tmp_path: Path, bundle: RemoteBundle, target: RemoteFile
) -> None:
    write_job(tmp_path, Job(RemoteBundle("coming", "Coming", (target,))))
    assert remove_bundle(tmp_path, bundle.id) == 500
    assert file_path(tmp_path, target).exists()


def test_a_file_under_another_spelling_of_its_repository_stays(
    tmp_path: Path, bundle: RemoteBundle, target: RemoteFile
) -> None:
    """A link from one spelling to the other stands for a disk that ignores case."""
    typed = msgspec.structs.replace(target, repo="Some/Model")
    try:
        repo_folder(tmp_path, "Some/Model").symlink_to(repo_folder(tmp_path, target.repo))
    except OSError:
        pytest.skip("no links here")
    write_manifest(tmp_path, RemoteBundle("typed", "Typed", (typed,)))
    assert remove_bundle(tmp_path, bundle.id) == 500
    assert file_path(tmp_path, typed).exists()


@pytest.mark.parametrize("place", [manifest_path, job_path])
def test_nothing_is_deleted_while_it_cannot_be_read_what_the_others_need(
    tmp_path: Path, bundle: RemoteBundle, place: Callable[[Path, str], Path]
) -> None:
    damaged = place(tmp_path, "damaged")
    damaged.parent.mkdir(parents=True, exist_ok=True)
    damaged.write_bytes(b"{")
    with pytest.raises(UnreadableRecord) as caught:
        remove_bundle(tmp_path, bundle.id)
    assert str(damaged) in caught.value.remedy
    assert _total_bytes(tmp_path) == 3500
    damaged.unlink()
    assert remove_bundle(tmp_path, bundle.id) == 3500


def test_main_points_to_what_is_left(tmp_path: Path, bundle: RemoteBundle) -> None:
    newer = _file(tmp_path, "a.gguf", b"n" * 100, OTHER)
    write_manifest(tmp_path, RemoteBundle("newer", "Newer", (newer,)))
    assert remove_bundle(tmp_path, "newer") == 100
    assert (repo_folder(tmp_path, "some/model") / "refs" / "main").read_text() == COMMIT
    assert _total_bytes(tmp_path) == 3500


def test_a_damaged_main_is_written_anew(tmp_path: Path, bundle: RemoteBundle, target: RemoteFile) -> None:
    write_manifest(tmp_path, RemoteBundle("plain", "Plain", (target,)))
    main = repo_folder(tmp_path, "some/model") / "refs" / "main"
    main.write_bytes(b"\xff\xfe")
    assert remove_bundle(tmp_path, bundle.id) == 500
    assert main.read_text() == COMMIT


def test_foreign_files_in_the_repositorys_folder_stay(tmp_path: Path, bundle: RemoteBundle) -> None:
    foreign = repo_folder(tmp_path, "some/model") / "blobs" / "x"
    foreign.parent.mkdir()
    foreign.write_bytes(b"x")
    remove_bundle(tmp_path, bundle.id)
    assert foreign.read_bytes() == b"x"


def test_what_is_half_deleted_can_be_removed_again(
    tmp_path: Path, bundle: RemoteBundle, target: RemoteFile
) -> None:
    file_path(tmp_path, target).unlink()
    assert remove_bundle(tmp_path, bundle.id) == 500


def test_a_file_that_cannot_be_deleted_is_a_sentence_and_the_bundle_stays(
    tmp_path: Path, bundle: RemoteBundle, target: RemoteFile
) -> None:
    """A folder in the file's place cannot be unlinked, as a loaded file cannot on Windows."""
    path = file_path(tmp_path, target)
    path.unlink()
    path.mkdir()
    (path / "inside").touch()
    with pytest.raises(FileInUse) as caught:
        remove_bundle(tmp_path, bundle.id)
    assert "using it" in caught.value.sentence
    assert [m.bundle.id for m in read_manifests(tmp_path)] == ["both"]


def test_what_there_is_of_a_partial_is_counted(
    tmp_path: Path, bundle: RemoteBundle, target: RemoteFile
) -> None:
    partial = partial_of(tmp_path, target)
    partial.path.parent.mkdir(parents=True)
    partial.path.write_bytes(b"p" * 70)
    assert remove_bundle(tmp_path, bundle.id) == 3570
