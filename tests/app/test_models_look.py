"""The Models page in all its states: nothing cut and nothing nameless, in every size."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QSlider, QWidget
from pytestqt.qtbot import QtBot

from tests.app.conftest import OpenApp
from tests.app.looks import cut, leaves, outside, overlapping
from tests.app.model_scenes import MODEL_SCENES, ModelScene
from tests.app.scripted_models import ScriptedModels

_MOST_FRAMES = 60
SIZES = ((1280, 800), (1000, 650), (700, 560), (640, 480))


def faults(root: QWidget, window: QWidget) -> list[str]:
    """Return what is wrong with what `root` shows."""
    # What a line edit has inside itself is Qt's own affair.
    shown = [one for one in leaves(root) if not isinstance(one.parentWidget(), QLineEdit)]
    said = [f"cut: {type(w).__name__} {_words(w)!r}" for w in shown if cut(w)]
    said += [f"overlap: {pair}" for pair in overlapping(shown, window)]
    return said + [f"outside: {_words(w)!r}" for w in outside(shown, window)]


def settled_faults(qtbot: QtBot, window: QWidget, popup: QWidget | None) -> list[str]:
    """Return what is wrong once the layout has come to rest, which takes some frames."""
    wrong: list[str] = []
    for _ in range(_MOST_FRAMES):
        qtbot.wait(33)
        wrong = faults(window, window) + (faults(popup, popup) if popup else [])
        if not wrong:
            break
    return wrong


def _words(widget: QWidget) -> str:
    return widget.text() if isinstance(widget, QLabel | QAbstractButton) else str(widget.accessibleName())


@pytest.mark.qt_log_ignore("^This plugin does not support", extend=True)
@pytest.mark.parametrize("scene", MODEL_SCENES, ids=lambda scene: scene.name)
def test_nothing_is_cut_and_nothing_overlaps(qtbot: QtBot, open_app: OpenApp, scene: ModelScene) -> None:
    window = open_app(models=ScriptedModels(scene.script)).window
    window.resize(*SIZES[0])
    for pause_ms in scene.act(window, None):
        qtbot.wait(pause_ms // 2)
    popup = QApplication.activePopupWidget()
    found: dict[str, list[str]] = {}
    # The exact table does not fit into the smallest window: there the detail scrolls sideways.
    for size in SIZES[:-1] if scene.name == "bytes" else SIZES:
        window.resize(*size)
        if wrong := settled_faults(qtbot, window, popup):
            found[f"{size[0]}x{size[1]}"] = wrong
    if popup is not None:
        popup.close()
    assert found == {}


def test_nothing_is_cut_at_twice_the_scale() -> None:
    """Qt reads the scale once, when it starts: the test above in a process of its own."""
    env = {**os.environ, "QT_SCALE_FACTOR": "2", "QT_QPA_PLATFORM": "offscreen"}
    which = f"{Path(__file__)}::{test_nothing_is_cut_and_nothing_overlaps.__name__}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", which]
    wanted = "full or gated"
    done = subprocess.run(
        [*command, "-k", wanted], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


@pytest.mark.qt_log_ignore("^This plugin does not support", extend=True)
@pytest.mark.parametrize("name", ["downloading", "gated", "repository", "panel"])
def test_everything_that_can_be_pressed_has_a_name(qtbot: QtBot, open_app: OpenApp, name: str) -> None:
    scene = next(scene for scene in MODEL_SCENES if scene.name == name)
    window = open_app(models=ScriptedModels(scene.script)).window
    for pause_ms in scene.act(window, None):
        qtbot.wait(pause_ms // 2)
    nameless = [
        f"{type(one).__name__} in {type(one.parentWidget()).__name__}"
        for kind in (QAbstractButton, QSlider)
        for one in window.findChildren(kind)
        if not QAccessible.queryAccessibleInterface(one).text(QAccessible.Text.Name).strip()
    ]
    window.downloads.close()
    assert nameless == []


def test_the_list_tells_a_screen_reader_all_that_a_row_shows(qtbot: QtBot, open_app: OpenApp) -> None:
    window = open_app().window
    window.show_page(2)
    page = window.models
    qtbot.waitUntil(lambda: page.list.key != "")
    face = QAccessible.queryAccessibleInterface(page.list)
    assert face.text(QAccessible.Text.Name) == "Models"
    spoken = [face.child(i).text(QAccessible.Text.Name) for i in range(3)]
    assert any(said.startswith("Qwen3.5 9B, recommended, number 1, Code") for said in spoken)
