"""The Tune page in all its states: nothing cut and nothing nameless, in every size."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QWheelEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QSpinBox
from pytestqt.qtbot import QtBot

from tests.app.conftest import OpenApp
from tests.app.test_models_look import settled_faults
from tests.app.tune_scenes import TUNE_SCENES, TuneScene, measured, shelf

SIZES = ((1280, 800), (1000, 650), (700, 560))


@pytest.mark.qt_log_ignore("^This plugin does not support", extend=True)
@pytest.mark.parametrize("scene", TUNE_SCENES, ids=lambda scene: scene.name)
def test_nothing_is_cut_and_nothing_overlaps(qtbot: QtBot, open_app: OpenApp, scene: TuneScene) -> None:
    window = open_app(scene.engine, bench=scene.bench).window
    window.resize(*SIZES[0])
    for pause_ms in scene.act(window, None):
        qtbot.wait(pause_ms)
    found: dict[str, list[str]] = {}
    for size in SIZES:
        window.resize(*size)
        if wrong := settled_faults(qtbot, window, None):
            found[f"{size[0]}x{size[1]}"] = wrong
    assert found == {}


def test_nothing_is_cut_at_twice_the_scale() -> None:
    """Qt reads the scale once, when it starts: the test above in a process of its own."""
    env = {**os.environ, "QT_SCALE_FACTOR": "2", "QT_QPA_PLATFORM": "offscreen"}
    which = f"{Path(__file__)}::{test_nothing_is_cut_and_nothing_overlaps.__name__}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", which]
    wanted = "applied or refused"
    done = subprocess.run(
        [*command, "-k", wanted], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_everything_that_can_be_pressed_has_a_name(qtbot: QtBot, open_app: OpenApp) -> None:
    window = open_app(bench=shelf()).window
    for pause_ms in measured(window, None):
        qtbot.wait(pause_ms)
    nameless = [
        f"{type(one).__name__} in {type(one.parentWidget()).__name__}"
        for kind in (QAbstractButton, QSpinBox)
        for one in window.tune.findChildren(kind)
        if one.isVisible()
        and not QAccessible.queryAccessibleInterface(one).text(QAccessible.Text.Name).strip()
    ]
    assert nameless == []


def test_a_chip_says_what_it_chooses(open_app: OpenApp) -> None:
    page = open_app(bench=shelf()).window.tune
    assert page.plan.modes.buttons["2"].accessibleName() == "Draft length 2"
    assert page.plan.modes.buttons["auto"].accessibleName() == "Draft length auto"
    assert page.plan.kinds.buttons["coding"].accessibleName() == "Kind of text: Coding"


def test_the_wheel_scrolls_past_the_numbers(qtbot: QtBot, open_app: OpenApp) -> None:
    window = open_app(bench=shelf()).window
    window.show_page(3)
    box = window.tune.plan.repeat
    at = QPointF(box.rect().center())
    turn = QPoint(0, 120)
    wheel = QWheelEvent(
        at,
        QPointF(box.mapToGlobal(box.rect().center())),
        QPoint(),
        turn,
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(box, wheel)
    assert box.value() == 1


def test_a_cell_tells_a_screen_reader_its_row_and_its_column(qtbot: QtBot, open_app: OpenApp) -> None:
    window = open_app(bench=shelf()).window
    for pause_ms in measured(window, None):
        qtbot.wait(pause_ms)
    face = QAccessible.queryAccessibleInterface(window.tune.result.table)
    spoken = [face.child(i).text(QAccessible.Text.Name) for i in range(face.childCount())]
    assert "Editing, 4: 2.45×." in spoken
    assert any(said.startswith("All kinds, Auto: 1.57×. The best of this row.") for said in spoken)
