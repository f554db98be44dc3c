"""The Models page on the real facade: a server that speaks the Hub's API, real downloads, real llama.cpp."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.main import open_window
from app.window import Window
from engine.desk.desk import ModelsDesk
from engine.models.bundle import DrafterKind
from engine.service import Service
from tests.app.scripted_bench import BenchScript
from tests.hub_server.fixtures import hub as hub
from tests.hub_server.server import HubServer

TINY_MODELS = Path(__file__).parents[1] / "models"
REPO = "maker/Tiny-GGUF"


@pytest.fixture
def window(
    qapp: QApplication, hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Window]:
    """A window whose Hub is the test's own and whose folders are all in `tmp_path`."""
    for name in ("DATA", "CACHE", "MODELS"):
        monkeypatch.setenv(f"SLIPSTREAM_{name}_DIR", str(tmp_path / name.lower()))
    for name in ("HOME", "HF_HOME", "XDG_CACHE_HOME", "OLLAMA_MODELS"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in ("HF_TOKEN", "HF_HUB_CACHE", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    names = {"Tiny-F32.gguf": "llama.gguf", "eagle3-Tiny-F32.gguf": "llama-eagle3.gguf"}
    names["MTP/mtp-Tiny-F32.gguf"] = "mtp-qwen35.gguf"
    stored = {path: (TINY_MODELS / name).read_bytes() for path, name in names.items()}
    hub.add(REPO, stored | {"README.md": b"# Tiny"})
    monkeypatch.setattr("app.main._show_what_goes_wrong", lambda _window: None)
    service, desk = Service(), ModelsDesk(endpoint=hub.endpoint)
    window = open_window(qapp, service, lambda _recent: (), desk, BenchScript().tools())
    yield window
    desk.stop(5.0)
    service.stop(5.0)
    window.close()
    window.deleteLater()


def test_a_model_is_found_looked_at_downloaded_and_loaded(qtbot: QtBot, window: Window) -> None:
    window.show_page(2)
    page = window.models
    qtbot.waitUntil(lambda: len(page.list.rows) > 10, timeout=30_000)
    page.search.edit.setText("tiny")
    qtbot.waitUntil(lambda: page.list.choose(REPO), timeout=20_000)
    qtbot.waitUntil(lambda: page.detail.title == "Tiny-GGUF", timeout=20_000)
    qtbot.waitUntil(lambda: any(one.reason for one in page.detail.subject.drafters), timeout=20_000)
    reasons = {one.kind: one.reason for one in page.detail.subject.drafters}
    assert reasons[DrafterKind.EAGLE3] == ""
    assert reasons[DrafterKind.MTP] != ""
    qtbot.waitUntil(lambda: page.detail.memory.n_ctx > 0, timeout=30_000)
    assert page.detail.memory.fits
    page.detail.primary.click()
    qtbot.waitUntil(lambda: page.detail.primary.text() == "Load", timeout=30_000)
    qtbot.waitUntil(lambda: page.detail.memory.n_ctx > 0, timeout=30_000)
    assert "≈" not in page.detail.memory.words
    page.search.edit.clear()
    (here,) = (one.id for one in page._state.offers if one.installed and one.installed.can_remove)
    assert page.list.choose(here)
    qtbot.waitUntil(lambda: bool(page.detail.subject.local), timeout=20_000)
    assert DrafterKind.NGRAM in {one.choice.kind for one in page.detail.subject.local}
    assert page.detail.subject.picked_drafter.kind is DrafterKind.EAGLE3
    page.detail.primary.click()
    qtbot.waitUntil(lambda: window.pages.currentIndex() == 0, timeout=30_000)
    loaded = window.models.detail._session.state.loaded
    assert loaded is not None
    window.show_page(2)
    (said,) = (value for name, value in page.detail.facts.rows if name == "Loaded")
    assert "MiB on CPU" in said
    page.detail.delete.click()
    question = page.doing.question
    assert question is not None
    assert "It is loaded and will be unloaded first." in question.informativeText()
    next(one for one in question.buttons() if one.text().startswith("Delete")).click()
    qtbot.waitUntil(lambda: page.notice.isVisible(), timeout=20_000)
    assert page.detail.title != "Tiny-GGUF F32"
    assert page.notice.sentence.startswith("Deleted. ")
    assert page.doing._session.state.loaded is None
    assert not Path(loaded.target.path).exists()
    assert loaded.target.path not in {bundle.target for bundle in window.chat.picker._library.bundles}
