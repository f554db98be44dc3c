"""Verifying finds what is not as it was downloaded."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from engine.bundles.store import file_path, write_manifest
from engine.bundles.verify import verify_bundle
from engine.errors import BadOption, Cancelled
from engine.models.bundle import DrafterKind
from engine.models.remote import RemoteBundle, RemoteFile


def _file(folder: Path, path: str, content: bytes) -> RemoteFile:
    file = RemoteFile("some/model", path, "a" * 40, len(content), hashlib.sha256(content).hexdigest())
    place = file_path(folder, file)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return file


def test_verifying_reads_everything_and_says_what_is_wrong(tmp_path: Path) -> None:
    target, drafter = _file(tmp_path, "a.gguf", b"t" * 3000), _file(tmp_path, "MTP/d.gguf", b"d" * 500)
    bundle = RemoteBundle("both", "Both", (target,), DrafterKind.MODEL, (drafter,))
    write_manifest(tmp_path, bundle)
    fractions: list[float] = []
    assert verify_bundle(tmp_path, bundle.id, fractions.append) == ""
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    path = file_path(tmp_path, drafter)
    path.write_bytes(b"e" * 500)
    assert "d.gguf is not what was downloaded" in verify_bundle(tmp_path, bundle.id)
    path.unlink()
    assert "d.gguf is missing" in verify_bundle(tmp_path, bundle.id)
    with pytest.raises(Cancelled):
        verify_bundle(tmp_path, bundle.id, is_cancelled=lambda: True)
    with pytest.raises(BadOption):
        verify_bundle(tmp_path, "another")
