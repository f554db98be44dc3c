"""The Tune page on the real engine: a tiny model is measured, kept, and found again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.main import open_window
from app.tune.engine_bench import engine_bench
from app.window import Window
from engine.bench.plan import Task
from engine.models.bundle import Bundle, DrafterChoice, DrafterKind
from engine.service import Service
from tests.app.scripted_models import ScriptedModels

MODELS = Path(__file__).parents[1] / "models"
BUNDLE = Bundle(
    "Tiny", str(MODELS / "llama.gguf"), DrafterChoice(DrafterKind.MODEL, str(MODELS / "llama-draft.gguf"))
)
TASKS = (Task("one", "coding", "def f(", max_tokens=16), Task("two", "creative", "The sea", max_tokens=16))


@pytest.fixture
def window(qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Window]:
    monkeypatch.setattr("app.main._show_what_goes_wrong", lambda _window: None)
    monkeypatch.setenv("SLIPSTREAM_DATA_DIR", str(tmp_path / "data"))
    service = Service()
    tools = replace(engine_bench(), tasks=TASKS)
    window = open_window(qapp, service, lambda _recent: (BUNDLE,), ScriptedModels(), tools)
    yield window
    service.stop(10.0)
    window.close()
    window.deleteLater()


def test_a_real_pair_is_measured_and_its_result_is_found_again(qtbot: QtBot, window: Window) -> None:
    page = window.tune
    window.show_page(3)
    qtbot.waitUntil(lambda: page.picker.target.chosen == "Tiny", timeout=10_000)
    page._session.choose(BUNDLE)
    for mode, chip in page.plan.modes.buttons.items():
        chip.setChecked(mode in ("auto", "2"))
    page.start()
    qtbot.waitUntil(lambda: page.run.phase == "measuring", timeout=60_000)
    qtbot.waitUntil(lambda: page.run.phase == "idle", timeout=60_000)
    assert page.notice.isHidden(), page.notice.sentence
    assert page.result.sentence.startswith("Best for you: ")
    assert page.result.table.rowCount() == 3
    assert "with draft length auto it writes" in page.result.advice
    assert "This holds for temperature 0" in page.result.advice
    page.result.share_asked.emit("json")
    told = json.loads(QApplication.clipboard().text())
    assert {one["category"] for one in told["figures"]} == {"coding", "creative"}
    assert {one["mode"] for one in told["overall"]} == {"off", "auto", "2"}
    tools = engine_bench()
    qtbot.waitUntil(lambda: tools.stored(BUNDLE) is not None, timeout=10_000)
