"""Names from the network never leave the folder and exist on every system."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.bundles.names import check_bundle, check_file
from engine.bundles.store import file_path, manifest_path
from engine.errors import UnsafeName
from engine.models.remote import RemoteBundle, RemoteFile

COMMIT = "0123456789abcdef" * 2 + "01234567"
GOOD = RemoteFile("some/model", "MTP/a-b_c.Q4_K_M-00001-of-00002.gguf", COMMIT, 5, "a" * 64)

BAD_PATHS = [
    *("../a.gguf", "a/../../b.gguf", "/etc/passwd", "a//b.gguf", "./a.gguf", "", "a/", "..", "a/.."),
    *("..\\a.gguf", "a\\b.gguf", "C:/a.gguf", "C:a.gguf", "a.gguf:stream", "\\\\server\\share\\a.gguf"),
    *("a\0.gguf", "a\n.gguf", "a*.gguf", 'a".gguf', "a?.gguf", "a|b.gguf", "<a>.gguf"),
    *(
        "CON",
        "nul.gguf",
        "aux.tar.gz",
        "COM1",
        "LPT9.gguf",
        "com¹.gguf",
        "NUL .gguf",
        "sub/prn.txt",
        "CONIN$",
    ),
    *("a.gguf.", "a.gguf ", "sub./a.gguf", "x" * 256, "é" * 128, "\udc80.gguf"),
]
BAD_REPOS = ["model", "a/b/c", "../b", "a/..", "a--b/c", "a/b c", "/b", "a/", "a/b\n", "con/b", "a/.b"]


@pytest.mark.parametrize("path", BAD_PATHS, ids=ascii)
def test_a_path_that_would_leave_the_folder_or_fail_somewhere_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(UnsafeName) as caught:
        file_path(tmp_path, msgspec.structs.replace(GOOD, path=path))
    assert caught.value.remedy


@pytest.mark.parametrize("repo", BAD_REPOS, ids=ascii)
def test_a_repository_that_is_none_is_refused(tmp_path: Path, repo: str) -> None:
    with pytest.raises(UnsafeName):
        file_path(tmp_path, msgspec.structs.replace(GOOD, repo=repo))


@pytest.mark.parametrize("revision", ["..", "a/../b", "", "/a", "a b", "a\\b", "con", "a/nul.txt", "main."])
def test_a_revision_that_is_none_is_refused(tmp_path: Path, revision: str) -> None:
    with pytest.raises(UnsafeName):
        file_path(tmp_path, msgspec.structs.replace(GOOD, revision=revision))


def test_usual_names_pass(tmp_path: Path) -> None:
    path = file_path(tmp_path, GOOD)
    assert path == tmp_path / "models--some--model" / "snapshots" / COMMIT / GOOD.path
    for usual in (
        "a.gguf",
        ".gitattributes",
        "sub/deep/er/b.gguf",
        "Mödel – ü.gguf",
        "console.txt",
        "x" * 255,
    ):
        check_file(msgspec.structs.replace(GOOD, path=usual))


@given(path=st.text(max_size=40), repo=st.text(max_size=20))
def test_whatever_passes_stays_inside(path: str, repo: str) -> None:
    folder = Path("/models")
    for file in (RemoteFile("some/model", path, COMMIT), RemoteFile(repo, "a.gguf", COMMIT)):
        try:
            found = file_path(folder, file)
        except UnsafeName:
            continue
        assert folder in found.resolve().parents


@pytest.mark.parametrize("bundle_id", ["../x", "a/b", "", "nul", "x" * 201, "a\\b"])
def test_an_id_that_cannot_be_a_file_name_is_refused(tmp_path: Path, bundle_id: str) -> None:
    with pytest.raises(UnsafeName):
        check_bundle(RemoteBundle(bundle_id, "name", (GOOD,)))
    if len(bundle_id) < 200:
        with pytest.raises(UnsafeName):
            manifest_path(tmp_path, bundle_id)


def test_two_files_that_differ_in_case_only_are_refused() -> None:
    other = msgspec.structs.replace(GOOD, path=GOOD.path.upper())
    with pytest.raises(UnsafeName, match="upper and lower case"):
        check_bundle(RemoteBundle("id", "name", (GOOD, other)))
    check_bundle(RemoteBundle("id", "name", (GOOD, GOOD)))
