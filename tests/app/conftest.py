"""A window on a scripted engine, without a display."""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.main import open_window
from app.window import Window
from engine.models.bundle import NGRAM_DRAFTER, Bundle
from tests.app.model_facts import CURATED
from tests.app.scripted_bench import BenchScript
from tests.app.scripted_models import ModelsScript, ScriptedModels
from tests.app.scripted_service import Script, ScriptedService

BUNDLES = (
    Bundle("Starter: SmolLM2 135M", "/models/smollm2-135m.gguf", NGRAM_DRAFTER),
    Bundle("Another model", "/models/another.gguf", NGRAM_DRAFTER),
)


@dataclass(frozen=True)
class Opened:
    """A shown window and the scripted engine and models' facade behind it."""

    window: Window
    service: ScriptedService
    models: ScriptedModels


OpenApp = Callable[..., Opened]


@pytest.fixture(autouse=True)
def config_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep every test's settings to itself."""
    folder = tmp_path / "config"
    monkeypatch.setenv("SLIPSTREAM_CONFIG_DIR", str(folder))
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "token"))
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def open_app(qtbot: QtBot, qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenApp]:
    """Return a function that opens a window on a scripted engine and waits until it can be used."""
    opened: list[Opened] = []
    # The window's own hooks would swallow what pytest is to see.
    monkeypatch.setattr("app.main._show_what_goes_wrong", lambda _window: None)

    def open_one(
        script: Script | None = None,
        bundles: tuple[Bundle, ...] = BUNDLES,
        models: ScriptedModels | None = None,
        bench: BenchScript | None = None,
    ) -> Opened:
        service = ScriptedService(script or Script(speed=20.0))
        models = models or ScriptedModels(ModelsScript() if bundles else ModelsScript(offers=CURATED))
        window = open_window(qapp, service, lambda _recent: bundles, models, (bench or BenchScript()).tools())
        opened.append(Opened(window, service, models))
        if bundles:
            qtbot.waitUntil(lambda: "SmolLM2" in window.compare.picker.target.chosen)
        else:
            qtbot.wait(50)
        return opened[-1]

    yield open_one
    for one in opened:
        one.service.stop(1.0)
        one.models.stop(1.0)
        one.window.close()
        one.window.deleteLater()
    qtbot.wait(10)
