"""Downloads on every page, and the folders that are looked into."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from app.widgets.models.downloads_panel import DownloadsPanel
from app.widgets.models.folders import open_folders
from app.widgets.parts import IconButton
from engine.download.progress import DownloadState
from engine.models_events import ConnectionChanged, Unreadable
from engine.recommend.advice import ComputerSpeed
from tests.app.conftest import OpenApp, Opened
from tests.app.model_facts import ENTRIES, SPEED
from tests.app.models_page import SLOW_DOWNLOAD, asked, choose, show
from tests.app.models_page import opened as opened
from tests.app.scripted_models import ModelsScript, ScriptedModels, progress_of


def test_a_download_shows_in_the_list_the_detail_the_ring_and_the_tray(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    opened = show(qtbot, open_app(models=ScriptedModels(SLOW_DOWNLOAD)))
    window, page = opened.window, choose(qtbot, opened, "gemma-4-e4b")
    assert window.tray.isHidden()
    page.detail.primary.click()
    qtbot.waitUntil(lambda: window.rail.ring.fraction > 0)
    assert page.detail.primary.isHidden()
    assert page.detail.download.isVisible()
    row = next(row for row in page.list.rows if row.key == "gemma-4-e4b")
    assert row.third.startswith("Downloading · ")
    assert window.rail.ring.accessibleName().startswith("Downloads: 1 download under way, ")
    assert window.windowTitle().endswith("% · Slipstream")
    for index in (0, 1, 2):
        window.show_page(index)
        assert window.tray.isVisible()
        assert window.tray.words.startswith("Gemma 4 E4B: ")
    page.detail.download.go.click()
    qtbot.waitUntil(lambda: window.tray.words == "Gemma 4 E4B is paused")
    assert page.detail.download.words.startswith("Paused at ")
    assert window.windowTitle() == "Slipstream"
    window.tray.resume.click()
    qtbot.waitUntil(lambda: window.tray.words.startswith("Gemma 4 E4B: "))
    page.detail.download.cancel.click()
    if page.detail.download.delete.isVisible():
        page.detail.download.delete.click()
    qtbot.waitUntil(lambda: page.detail.primary.isVisible())
    assert page.detail.download.isHidden()


def test_a_finished_download_is_on_this_computer_and_can_be_loaded(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "qwen-3.5-9b")
    page.detail.primary.click()
    qtbot.waitUntil(lambda: page.detail.primary.text() == "Load", timeout=5000)
    (row,) = (row for row in page.list.rows if row.key == "qwen-3.5-9b")
    assert (row.rank, row.third.partition(" · ")[0]) == (1, "here")
    assert page.list.key == "qwen-3.5-9b"
    assert "qwen-3.5-9b" in opened.window.downloads.rows
    assert opened.window.downloads.rows["qwen-3.5-9b"].words == "Done and verified, 5.9 GB"
    opened.window.downloads.rows["qwen-3.5-9b"].dismiss.click()
    assert opened.window.downloads.rows == {}


@pytest.mark.parametrize(
    ("state", "said", "verb"),
    [
        (DownloadState.STALLED, "Stalled at ", "Pause"),
        (DownloadState.FAILED, "There is not enough room on the disk", "Try again"),
        (DownloadState.PAUSED, "Paused at ", "Resume"),
    ],
)
def test_a_download_that_does_not_go_on_says_why(
    qtbot: QtBot, opened: Opened, state: DownloadState, said: str, verb: str
) -> None:
    page = choose(qtbot, opened, "gemma-4-e4b")
    opened.models.show_download(progress_of(ENTRIES[0].bundle, 0.4, state))
    qtbot.waitUntil(lambda: page.detail.download.isVisible())
    assert page.detail.download.words.startswith(said)
    assert page.detail.download.go.text() == verb
    assert "/s" not in page.detail.download.words
    assert page.detail.download.cancel.text() == ("Remove" if state is DownloadState.FAILED else "Cancel")


def test_what_has_arrived_or_failed_is_told_on_every_page(qtbot: QtBot, opened: Opened) -> None:
    tray = opened.window.tray
    opened.window.show_page(0)
    for state, said in (
        (DownloadState.FAILED, "Gemma 4 E4B could not be downloaded: There is not enough room"),
        (DownloadState.DONE, "Gemma 4 E4B is here: downloaded and verified."),
    ):
        opened.models.show_download(progress_of(ENTRIES[0].bundle, 0.9, DownloadState.RUNNING))
        qtbot.waitUntil(lambda: tray.words.startswith("Gemma 4 E4B: 90"))
        opened.models.show_download(progress_of(ENTRIES[0].bundle, 0.9, state))
        qtbot.waitUntil(lambda said=said: tray.words.startswith(said))  # type: ignore[misc]
        assert tray.isVisible()
    tray._forget_news()
    assert tray.isHidden()


def test_before_downloads_were_told_the_panel_does_not_say_that_there_are_none(opened: Opened) -> None:
    panel = DownloadsPanel(opened.window.models.detail._state, opened.window)
    assert panel._nothing.text() == "Looking for downloads that have not ended yet…"
    panel._say_nothing()
    assert "goes on by itself the next time; what you paused stays paused" in panel._nothing.text()


def test_bytes_that_come_say_that_the_hub_can_be_reached_again(qtbot: QtBot, opened: Opened) -> None:
    offline = opened.window.models.offline
    opened.models.tell(ConnectionChanged(False))
    qtbot.waitUntil(lambda: offline.isVisible())
    opened.models.show_download(progress_of(ENTRIES[0].bundle, 0.4, DownloadState.RUNNING))
    qtbot.waitUntil(lambda: offline.isHidden())


def test_a_notices_button_hands_the_keyboard_on_to_what_follows(qtbot: QtBot, opened: Opened) -> None:
    window, page = opened.window, opened.window.models
    window.activateWindow()
    opened.models.tell(ConnectionChanged(False))
    qtbot.waitUntil(lambda: page.offline.isVisible())
    (again,) = page.offline.buttons
    again.setFocus()
    QTest.keyClick(again, Qt.Key.Key_Space)
    focused = QApplication.focusWidget()
    assert focused is not None
    assert page.isAncestorOf(focused)


@pytest.mark.qt_log_ignore("^This plugin does not support", extend=True)
def test_folders_are_listed_and_can_be_taken_away(qtbot: QtBot, opened: Opened) -> None:
    state = opened.window.models.detail._state
    state.add_folder("/srv/models")
    qtbot.waitUntil(lambda: state.folders == ("/srv/models",))
    popover = open_folders(opened.window.models.folders, state)
    (remove,) = popover.findChildren(IconButton)
    assert remove.accessibleName() == "Do not look into /srv/models any more"
    remove.click()
    qtbot.waitUntil(lambda: state.folders == ())


@pytest.mark.qt_log_ignore("^This plugin does not support", extend=True)
def test_files_that_could_not_be_read_are_told_with_their_reasons(qtbot: QtBot, open_app: OpenApp) -> None:
    damaged = Unreadable("/srv/models/broken.gguf", "It ends before its header does.")
    opened = show(qtbot, open_app(models=ScriptedModels(ModelsScript(unreadable=(damaged,)))))
    page = opened.window.models
    (row,) = (row for row in page.list.rows if row.title == "1 file could not be read")
    page._on_activated(row)
    popover = QApplication.activePopupWidget()
    assert popover is not None
    said = [one.text() for one in popover.findChildren(QLabel)]
    assert "broken.gguf: It ends before its header does." in said
    below = page.folders.mapToGlobal(QPoint(0, page.folders.height())).y()
    assert popover.y() >= below
    popover.close()


def test_a_busy_computers_measurement_says_so(qtbot: QtBot, open_app: OpenApp) -> None:
    speed = ComputerSpeed(SPEED.devices, was_busy=True)
    page = show(qtbot, open_app(models=ScriptedModels(ModelsScript(speed=speed)))).window.models
    assert "measured while the computer was busy; measure again" in page.measure.words


def test_cancelling_asks_before_much_is_deleted(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "gemma-4-e4b")
    row = page.detail.download
    opened.models.show_download(progress_of(ENTRIES[0].bundle, 0.4, DownloadState.PAUSED))
    qtbot.waitUntil(row.isVisible)
    row.cancel.click()
    assert asked(opened, "cancel_download") == []
    assert row.delete.text() == "Delete 2.0 GB"
    row.keep.click()
    assert row.go.isVisible()
    row.cancel.click()
    row.delete.click()
    qtbot.waitUntil(lambda: row.isHidden())
    assert asked(opened, "cancel_download") == ["gemma-4-e4b"]


def test_what_was_paused_when_slipstream_ended_waits_in_sight(qtbot: QtBot, open_app: OpenApp) -> None:
    paused = progress_of(ENTRIES[0].bundle, 0.6, DownloadState.PAUSED)
    opened = show(qtbot, open_app(models=ScriptedModels(SLOW_DOWNLOAD, restored=(paused,))))
    qtbot.waitUntil(lambda: "gemma-4-e4b" in opened.window.downloads.rows)
    row = opened.window.downloads.rows["gemma-4-e4b"]
    assert row.words == "Paused at 3.0 GB of 5.1 GB"
    assert opened.window.rail.ring.accessibleName() == "Downloads: 1 download waits"
    assert opened.window.tray.words == "Gemma 4 E4B is paused"
    assert opened.window.tray.isVisible()
    row.go.click()
    qtbot.waitUntil(lambda: bool(opened.window.models.detail._state.running))


def test_events_that_come_quickly_cost_one_update_a_frame(qtbot: QtBot, opened: Opened) -> None:
    seen: list[object] = []
    bridge = opened.window.models.detail._state.bridge
    bridge.download_changed.connect(seen.append)
    for i in range(100):
        opened.models.show_download(progress_of(ENTRIES[0].bundle, i / 100, DownloadState.RUNNING))
    qtbot.waitUntil(lambda: "99 %" in opened.window.tray.words, timeout=3000)
    assert len(seen) <= 10
