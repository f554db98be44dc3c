"""No widget is ever shown as a window of its own before it has its place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from app.window import Window
from engine.download.progress import DownloadState
from tests.app.conftest import OpenApp
from tests.app.model_facts import ENTRIES
from tests.app.model_scenes import MODEL_SCENES, ModelScene
from tests.app.scripted_models import ScriptedModels, progress_of

SCENES = [scene for scene in MODEL_SCENES if scene.name in ("panel", "gated", "repository")]


class WindowWatch(QObject):
    """Notes each widget that is shown as a window and is neither the main one nor a popup."""

    def __init__(self) -> None:
        super().__init__()
        self.strays: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            is_known = isinstance(watched, Window | QMenu) or watched.parentWidget() is not None
            if not is_known and not watched.inherits("QTipLabel"):
                self.strays.append(f"{type(watched).__name__} {watched.accessibleName()!r}")
        return False


@pytest.fixture
def watch(qapp: QApplication) -> Iterator[WindowWatch]:
    watch = WindowWatch()
    qapp.installEventFilter(watch)
    yield watch
    qapp.removeEventFilter(watch)


@pytest.mark.qt_log_ignore("^This plugin does not support", extend=True)
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_nothing_but_the_window_is_ever_shown(
    qtbot: QtBot, open_app: OpenApp, watch: WindowWatch, scene: ModelScene
) -> None:
    window = open_app(models=ScriptedModels(scene.script)).window
    for pause_ms in scene.act(window, None):
        qtbot.wait(pause_ms // 4)
    window.downloads.close()
    assert watch.strays == []


def test_a_download_that_is_told_of_shows_no_window(
    qtbot: QtBot, open_app: OpenApp, watch: WindowWatch
) -> None:
    opened = open_app()
    opened.models.show_download(progress_of(ENTRIES[0].bundle, 0.4, DownloadState.RUNNING))
    qtbot.waitUntil(lambda: "gemma-4-e4b" in opened.window.downloads.rows)
    assert watch.strays == []
