"""The window as a whole: nothing cut, nothing nameless, everything within reach of the keyboard."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, QSize, Qt, QUrl
from PySide6.QtGui import QAccessible, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QMenu
from pytestqt.qtbot import QtBot

from app.main import Reporter
from app.settings import read_settings, settings_path
from app.theme import ThemeChoice
from app.window import Window
from engine.worker.messages import LoadSettings
from tests.app.conftest import OpenApp
from tests.app.looks import cut, leaves, outside, overlapping, rect_in
from tests.app.scripted_service import Script

FAST = Script(speed=40.0)
TINY = Path(__file__).parents[1] / "models" / "llama.gguf"
SIZES = [(1280, 800), (1000, 650), (700, 560)]


def finish(qtbot: QtBot, window: Window) -> None:
    qtbot.waitUntil(
        lambda: window.compare.run.phase == "idle" and window.chat.run.phase == "idle", timeout=20_000
    )
    qtbot.wait(30)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("theme", [ThemeChoice.LIGHT, ThemeChoice.DARK])
def test_nothing_is_cut_and_nothing_overlaps(
    qtbot: QtBot, open_app: OpenApp, size: tuple[int, int], theme: ThemeChoice
) -> None:
    window = open_app(replace(FAST, difference_at=9)).window
    window.resize(*size)
    window.choose_theme(theme)
    assert window.devicePixelRatioF() == float(os.environ.get("QT_SCALE_FACTOR", "1"))
    for index in (1, 0):
        window.show_page(index)
        if index == 1:
            window.compare.start()
        else:
            window.chat.composer.edit.setPlainText("A question of a usual length, if you please.")
            window.chat.send()
        finish(qtbot, window)
        shown = list(leaves(window))
        assert [type(w).__name__ + " " + str(w.accessibleName()) for w in shown if cut(w)] == []
        assert overlapping(shown, window) == []
        assert outside(shown, window) == []


def test_nothing_is_cut_at_twice_the_scale() -> None:
    """Qt reads the scale once, when it starts: the test above in a process of its own."""
    env = {**os.environ, "QT_SCALE_FACTOR": "2", "QT_QPA_PLATFORM": "offscreen"}
    which = f"{Path(__file__)}::{test_nothing_is_cut_and_nothing_overlaps.__name__}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", which, "-k", "1280x800"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


@pytest.mark.parametrize("size", [(1280, 800), (1000, 650)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_comparison_fits_without_scrolling(
    qtbot: QtBot, open_app: OpenApp, size: tuple[int, int]
) -> None:
    window = open_app(FAST).window
    window.resize(*size)
    window.compare.start()
    finish(qtbot, window)
    assert window.compare.verticalScrollBar().maximum() == 0


def test_the_panes_stand_side_by_side_or_stack_where_it_is_narrow(open_app: OpenApp) -> None:
    window = open_app(FAST).window
    plain, speculative = window.compare.plain, window.compare.speculative
    window.resize(1200, 800)
    QApplication.processEvents()
    assert rect_in(plain, window).top() == rect_in(speculative, window).top()
    window.resize(700, 800)
    QApplication.processEvents()
    assert rect_in(plain, window).bottom() < rect_in(speculative, window).top()


def test_every_button_has_a_name_that_a_screen_reader_can_say(qtbot: QtBot, open_app: OpenApp) -> None:
    window = open_app(FAST).window
    window.chat.composer.edit.setPlainText("Hello")
    window.chat.send()
    finish(qtbot, window)
    nameless = []
    for one in window.findChildren(QAbstractButton):
        face = QAccessible.queryAccessibleInterface(one)
        if not face.text(QAccessible.Text.Name).strip():
            nameless.append(f"{type(one).__name__} in {type(one.parentWidget()).__name__}")
    assert nameless == []


def test_the_keyboard_reaches_everything(qtbot: QtBot, open_app: OpenApp) -> None:
    window = open_app(FAST).window
    window.activateWindow()
    control = Qt.KeyboardModifier.ControlModifier
    QTest.keyClick(window, Qt.Key.Key_1, control)
    assert window.pages.currentWidget() is window.chat
    QTest.keyClick(window, Qt.Key.Key_2, control)
    assert window.pages.currentWidget() is window.compare
    QTest.keyClick(window.compare.prompt.edit, Qt.Key.Key_Return, control)
    assert window.compare.run.phase != "idle"
    finish(qtbot, window)
    QTest.keyClick(window, Qt.Key.Key_N, control)
    assert window.pages.currentWidget() is window.chat
    QTest.keyClicks(window.chat.composer.edit, "one")
    QTest.keyClick(window.chat.composer.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(window.chat.composer.edit, "two?")
    assert window.chat.composer.text == "one\ntwo?"
    QTest.keyClick(window.chat.composer.edit, Qt.Key.Key_Return)
    finish(qtbot, window)
    QTest.keyClick(window, Qt.Key.Key_R, control)
    finish(qtbot, window)
    (turn,) = window.chat.transcript.turns
    assert len(turn.turn.answers) == 2


@pytest.mark.qt_log_ignore("^This plugin does not support")
def test_the_list_of_shortcuts_opens_and_closes(qtbot: QtBot, open_app: OpenApp) -> None:
    window = open_app(FAST).window
    window.show_shortcuts()
    popup = QApplication.activePopupWidget()
    assert popup is not None
    assert "Copy the last answer" in [one.text() for one in popup.findChildren(QLabel)]
    popup.close()


def test_what_was_typed_and_chosen_survives_a_restart(qtbot: QtBot, open_app: OpenApp) -> None:
    first = open_app(FAST).window
    first.compare.prompt.edit.setPlainText("half a prompt")
    first.chat.composer.edit.setPlainText("half a message")
    first.compare.options.draft_length.set_value(9)
    first.choose_theme(ThemeChoice.DARK)
    first.close()
    assert read_settings(settings_path()).settings.prompt == "half a prompt"
    second = open_app(FAST).window
    assert second.compare.prompt.text == "half a prompt"
    assert second.chat.composer.text == "half a message"
    assert second.compare.options.settings.draft_length == 9
    second.choose_theme(ThemeChoice.LIGHT)


def test_another_context_is_loaded_with_the_next_run_shared_by_both_pages_and_kept(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    opened = open_app(FAST)
    window = opened.window
    window.compare.start()
    finish(qtbot, window)
    window.chat.picker.context._session.choose_n_ctx(2048)
    assert window.compare.picker.context.chosen == window.chat.picker.context.chosen == "2,048"
    window.compare.start()
    finish(qtbot, window)
    window.compare.start()
    finish(qtbot, window)
    loads = [what[1] for name, what in opened.service.calls if name == "load" and isinstance(what, tuple)]
    assert loads == [LoadSettings(), LoadSettings(n_ctx=2048)]
    assert any(text.endswith("of 2,048 tokens") for text in window.status.texts)
    window.close()
    assert open_app(FAST).window.compare.picker.context.chosen == "2,048"


def test_the_contexts_on_offer_are_one_click_away(open_app: OpenApp) -> None:
    picker = open_app(FAST).window.compare.picker.context
    menu = QMenu()
    picker._fill_sizes(menu)
    assert [one.text() for one in menu.actions()] == ["Auto", "2,048", "4,096", "8,192", "16,384", "32,768"]
    assert [one.text() for one in menu.actions() if one.isChecked()] == ["Auto"]
    menu.actions()[2].trigger()
    assert picker.chosen == "4,096"


def test_a_model_file_dropped_on_the_window_is_chosen(
    qtbot: QtBot, open_app: OpenApp, tmp_path: Path
) -> None:
    window = open_app(FAST).window
    path = tmp_path / "Dropped model.gguf"
    path.write_bytes(TINY.read_bytes())
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)), QUrl.fromLocalFile("/readme.txt")])
    event = QDropEvent(
        QPointF(5, 5),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    window.dropEvent(event)
    qtbot.waitUntil(lambda: window.compare.picker.target.chosen == "Dropped model")
    assert str(path) in read_opened(window)


def read_opened(window: Window) -> tuple[str, ...]:
    window.close()
    return read_settings(settings_path()).settings.opened_files


def test_damaged_settings_are_said_in_words(open_app: OpenApp, config_dir: Path) -> None:
    config_dir.mkdir()
    (config_dir / "settings.json").write_text("{")
    window = open_app(FAST).window
    assert "damaged" in window.notice.sentence
    assert window.notice.isVisible()


@pytest.mark.skipif(sys.platform == "win32", reason="folders are not read-only there in this way")
def test_a_settings_folder_that_is_read_only_is_said_in_the_window(
    qtbot: QtBot, open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o500)
    if os.access(folder, os.W_OK):
        # The superuser writes everywhere but here.
        folder = Path("/proc/read-only")
    monkeypatch.setenv("SLIPSTREAM_CONFIG_DIR", str(folder))
    window = open_app(FAST).window
    window.compare.prompt.edit.setPlainText("Will this be kept?")
    qtbot.waitUntil(window.notice.isVisible, timeout=5000)
    assert window.notice.sentence.startswith(f"Your settings cannot be saved in {folder} (")
    window.compare.start()
    finish(qtbot, window)
    assert window.compare.plain.view.toPlainText() == FAST.text


def test_no_reference_to_none_is_lost_by_calls_that_return_nothing(open_app: OpenApp) -> None:
    """PySide 6.12.0 drops one for every void call under Python 3.11 and earlier, until the process aborts."""
    window = open_app(FAST).window
    window.update()
    before = sys.getrefcount(None)
    for _ in range(1000):
        window.update()
    assert sys.getrefcount(None) > before - 500


def test_an_unexpected_error_is_said_in_words_from_whatever_thread(qtbot: QtBot, open_app: OpenApp) -> None:
    window = open_app(FAST).window
    reporter = Reporter(window)
    error = ValueError("a number too many")
    thread = threading.Thread(target=reporter.report, args=(ValueError, error, None))
    thread.start()
    thread.join()
    qtbot.waitUntil(window.notice.isVisible, timeout=5000)
    assert "Something unexpected" in window.notice.sentence
    assert "number too many" not in window.notice.sentence


def test_the_window_is_no_larger_than_the_screen(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """A screen of 1280 × 800 at twice the scale."""
    monkeypatch.setattr(Window, "_screen_room", lambda _self: QSize(632, 360))
    window = open_app(FAST).window
    assert (window.width(), window.height()) == (632, 360)
