"""The folder: manifests, the Hub's layout, and what is stored where."""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import scan_cache_dir, try_to_load_from_cache

from engine.bundles.store import (
    file_path,
    is_stored,
    manifest_path,
    read_manifest,
    read_manifests,
    write_manifest,
)
from engine.models.remote import RemoteBundle, RemoteFile

COMMIT, OTHER = "a" * 40, "b" * 40
FILE = RemoteFile("some/model", "MTP/a.gguf", COMMIT, 5, "c" * 64)
BUNDLE = RemoteBundle("some-bundle", "Some bundle", (FILE,))


def _stored(folder: Path, file: RemoteFile = FILE, content: bytes = b"GGUF!") -> Path:
    path = file_path(folder, file)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def test_a_manifest_comes_back_as_it_was_written(tmp_path: Path) -> None:
    written = write_manifest(tmp_path, BUNDLE)
    assert written.finished_at.endswith("+00:00")
    assert read_manifests(tmp_path) == (written,)
    assert read_manifest(tmp_path, "some-bundle") == written
    assert written.files == (FILE,)


def test_a_damaged_manifest_counts_as_none(tmp_path: Path) -> None:
    write_manifest(tmp_path, BUNDLE)
    for damaged in (b"", b"{", b"\xff", b'{"bundle": 3}'):
        manifest_path(tmp_path, "damaged").write_bytes(damaged)
        assert [m.bundle.id for m in read_manifests(tmp_path)] == ["some-bundle"]
    assert read_manifests(tmp_path / "nowhere") == ()


def test_a_file_is_stored_only_if_a_manifest_vouches_for_it_in_its_full_length(tmp_path: Path) -> None:
    path = _stored(tmp_path)
    assert not is_stored(tmp_path, read_manifests(tmp_path), FILE)
    write_manifest(tmp_path, BUNDLE)
    manifests = read_manifests(tmp_path)
    assert is_stored(tmp_path, manifests, FILE)
    assert not is_stored(tmp_path, manifests, RemoteFile(FILE.repo, FILE.path, COMMIT, 5, "d" * 64))
    assert not is_stored(tmp_path, manifests, RemoteFile(FILE.repo, FILE.path, OTHER, 5, FILE.sha256))
    path.write_bytes(b"GGU")
    assert not is_stored(tmp_path, manifests, FILE)


def test_the_hubs_own_tools_take_the_folder_for_their_cache(tmp_path: Path) -> None:
    path = _stored(tmp_path)
    write_manifest(tmp_path, BUNDLE)
    assert try_to_load_from_cache("some/model", "MTP/a.gguf", cache_dir=tmp_path) == str(path)
    assert try_to_load_from_cache("some/model", "MTP/a.gguf", tmp_path, COMMIT) == str(path)
    (repo,) = scan_cache_dir(tmp_path).repos
    (revision,) = repo.revisions
    assert (repo.repo_id, repo.size_on_disk, revision.commit_hash) == ("some/model", 5, COMMIT)
    assert {file.file_name for file in revision.files} == {"a.gguf"}


def test_main_points_to_what_came_last(tmp_path: Path) -> None:
    _stored(tmp_path)
    write_manifest(tmp_path, BUNDLE)
    newer = RemoteFile(FILE.repo, FILE.path, OTHER, 5, "d" * 64)
    path = _stored(tmp_path, newer)
    write_manifest(tmp_path, RemoteBundle("newer", "Newer", (newer,)))
    assert try_to_load_from_cache("some/model", "MTP/a.gguf", cache_dir=tmp_path) == str(path)
