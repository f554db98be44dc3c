from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engine.models.bundle import NGRAM_DRAFTER
from engine.shelf.starter import find_starter


def test_the_gguf_is_found_without_importing_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "pretend_starter"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "Model.gguf").touch()
    monkeypatch.syspath_prepend(tmp_path)
    bundle = find_starter("pretend_starter")
    assert bundle is not None
    assert bundle.target == str(package / "Model.gguf")
    assert bundle.drafter == NGRAM_DRAFTER
    assert "pretend_starter" not in sys.modules


def test_without_the_package_there_is_no_starter() -> None:
    assert find_starter("no_such_package_at_all") is None
