"""The Models page in a real window, with a scripted facade at its boundary."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QMessageBox
from pytestqt.qtbot import QtBot

from app.pages.models import ModelsPage
from app.widgets.models.downloads_panel import DownloadsPanel
from app.widgets.models.folders import open_folders
from app.widgets.parts import IconButton
from engine.budget.budget import KvType
from engine.download.progress import DownloadState
from engine.hub.listing import HubQuery
from engine.models.bundle import DrafterKind
from engine.models.remote import RemoteBundle
from engine.models_events import ConnectionChanged, Unreadable
from engine.models_service import BudgetRequest
from engine.recommend.advice import ComputerSpeed
from engine.worker.messages import Failed, LoadSettings
from tests.app.conftest import OpenApp, Opened
from tests.app.model_facts import ENTRIES, HERE, OFFERS, SPEED
from tests.app.scripted_models import ModelsScript, ScriptedModels, progress_of
from tests.app.scripted_service import Script

SLOW_DOWNLOAD = ModelsScript(download_s=30.0)


@pytest.fixture
def opened(qtbot: QtBot, open_app: OpenApp) -> Opened:
    return show(qtbot, open_app())


def show(qtbot: QtBot, opened: Opened) -> Opened:
    opened.window.show_page(2)
    qtbot.waitUntil(lambda: opened.window.models.detail._state.is_listed)
    return opened


def choose(qtbot: QtBot, opened: Opened, key: str) -> ModelsPage:
    """Choose a row and wait until it is known what it takes."""
    page = opened.window.models
    assert page.list.choose(key)
    qtbot.waitUntil(lambda: page.detail.memory.n_ctx > 0)
    return page


def asked(opened: Opened, name: str) -> list[object]:
    return [what for called, what in opened.models.calls if called == name]


def searches(opened: Opened) -> list[tuple[HubQuery, str]]:
    return [what for what in asked(opened, "search") if isinstance(what, tuple)]


# ------------------------------------------------------------------------------------------------ list


def test_the_first_recommended_is_shown_once_something_is_known_of_this_computer(
    qtbot: QtBot, opened: Opened
) -> None:
    page = opened.window.models
    qtbot.waitUntil(lambda: page.detail.title == "Qwen3.5 9B")
    assert page.list.key == "qwen-3.5-9b"


def test_a_first_start_teaches_and_offers_one_button(qtbot: QtBot, open_app: OpenApp) -> None:
    new = ScriptedModels(ModelsScript(offers=(*OFFERS[:3], HERE[0]), speed=ComputerSpeed()))
    page = show(qtbot, open_app(models=new)).window.models
    assert page.side.currentWidget() is page.lesson
    assert page.lesson.words == "Find a model that suits this computer"
    assert "not known until this computer is measured" in page.measure.words
    page.lesson.begin.click()
    assert page.side.currentWidget() is page.detail
    assert page.detail.title == "Qwen3.5 9B"


def test_typing_filters_at_once_and_asks_the_hub_once_the_typing_pauses(qtbot: QtBot, opened: Opened) -> None:
    page = opened.window.models
    page.search.edit.setFocus()
    QTest.keyClicks(page.search.edit, "qwen")
    shown = [row.title for row in page.list.rows]
    assert "Gemma 4 E4B" not in shown
    assert "Searching the Hub…" in shown
    qtbot.waitUntil(lambda: any(row.kind == "repo" for row in page.list.rows))
    assert [query.text for query, _ in searches(opened)] == ["qwen"]


def test_the_hub_is_fetched_page_by_page_as_the_end_is_seen(qtbot: QtBot, opened: Opened) -> None:
    page = opened.window.models
    page.search.edit.setText("gguf")
    qtbot.waitUntil(lambda: len(page.hub.models) >= 20)
    before = len(page.hub.models)
    bar = page.list.verticalScrollBar()
    bar.setValue(bar.maximum())
    qtbot.waitUntil(lambda: len(page.hub.models) > before, timeout=5000)
    cursors = [cursor for _, cursor in searches(opened)]
    assert cursors[:2] == ["", "20"]
    assert len({model.repo for model in page.hub.models}) == len(page.hub.models)


def test_running_down_the_list_asks_only_about_where_it_ends(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "qwen-3.5-9b")
    before = len(asked(opened, "budget"))
    page.list.setFocus()
    for _ in range(6):
        QTest.keyClick(page.list, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: page.detail.memory.n_ctx > 0)
    assert len(asked(opened, "budget")) <= before + 2
    assert page.detail.title == "Llama 3.3 70B"


def test_an_owner_before_a_slash_asks_for_what_is_theirs(qtbot: QtBot, opened: Opened) -> None:
    page = opened.window.models
    page.search.edit.setText("bartowski/qwen")
    qtbot.waitUntil(lambda: bool(page.hub.models))
    assert {model.author for model in page.hub.models} == {"bartowski"}


def test_a_long_list_stays_quick(qtbot: QtBot, open_app: OpenApp) -> None:
    """600 rows: rows that are not seen are not painted, and a key costs no new layout of them all."""
    page = show(qtbot, open_app(models=ScriptedModels(ModelsScript(n_hub=600)))).window.models
    page.search.edit.setText("gguf")
    while len(page.hub.models) < 600:
        page.hub.fetch_more()
        qtbot.waitUntil(lambda: not page.hub.is_searching)
    rows = page.list.rows
    assert len(rows) > 600
    changed = (*rows[:-1], replace(rows[-1], third="1 download"))
    inserted: list[int] = []
    page.list.model().rowsInserted.connect(lambda _parent, first, last: inserted.append(last - first + 1))
    page.list.set_rows(changed)
    assert inserted == []
    page.list.choose(rows[-1].key)
    for _ in range(50):
        QTest.keyClick(page.list, Qt.Key.Key_Up)
    assert page.list.currentIndex().row() == len(rows) - 51


def test_choosing_keeps_its_place_when_more_rows_come(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "smollm3-3b")
    page.search.edit.setText("sm")
    assert page.list.key == "smollm3-3b"
    page.search.edit.setText("")
    assert page.list.currentIndex().data(int(Qt.ItemDataRole.DisplayRole)) == "SmolLM3 3B"


# -------------------------------------------------------------------------------------------- keyboard


def test_everything_is_done_by_keyboard_alone(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = open_app(models=ScriptedModels(SLOW_DOWNLOAD))
    window, page = opened.window, opened.window.models
    window.activateWindow()
    QTest.keyClick(window, Qt.Key.Key_3, Qt.KeyboardModifier.ControlModifier)
    assert window.pages.currentWidget() is page
    qtbot.waitUntil(lambda: page.list.key == "qwen-3.5-9b")
    page.list.setFocus()
    QTest.keyClick(page.list, Qt.Key.Key_Down)
    assert page.detail.title == "Gemma 4 E4B"
    QTest.keyClick(page.list, Qt.Key.Key_C)
    assert page.search.edit.text() == "c"
    QTest.keyClick(page.search.edit, Qt.Key.Key_Escape)
    assert page.search.edit.text() == ""
    QTest.keyClick(page.search.edit, Qt.Key.Key_Down)
    assert page.list.hasFocus()
    qtbot.waitUntil(lambda: page.detail.memory.n_ctx > 0)
    slider = page.detail.memory.slider.slider
    slider.setFocus()
    before = page.detail.memory.n_ctx
    QTest.keyClick(slider, Qt.Key.Key_Right)
    assert page.detail.memory.n_ctx == 2 * before
    page.list.setFocus()
    QTest.keyClick(page.list, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: bool(window.models.detail._state.running))
    assert asked(opened, "download") == [ENTRIES[0].bundle]


def test_tab_goes_from_the_search_to_the_list_to_the_detail(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "gemma-4-e4b")
    opened.window.activateWindow()
    page.search.edit.setFocus()
    seen = []
    for _ in range(40):
        QTest.keyClick(QApplication.focusWidget() or page, Qt.Key.Key_Tab)
        seen.append(QApplication.focusWidget())
    detail = page.detail
    wanted = [page.list, detail.primary, detail.choices.drafter, detail.choices.precision]
    wanted += [detail.choices.race, detail.memory.slider.slider, detail.memory.details.button]
    places = [seen.index(widget) for widget in wanted]
    assert places == sorted(places)


# ---------------------------------------------------------------------------------------------- memory


def test_the_slider_shows_what_each_context_takes_and_until_where_it_fits(
    qtbot: QtBot, opened: Opened
) -> None:
    memory = choose(qtbot, opened, "gemma-4-e4b").detail.memory
    assert memory.words.startswith(
        "≈ 5.9 GiB with a context of 8,192 tokens, and 400 MiB kept free · fits until "
    )
    assert memory.slider.mark == "fits until 95k"
    assert memory.bars[0].caption == "takes 5.6 GiB, leaves 5.6 GiB"
    memory.slider.slider.setValue(6)
    assert memory.bars[0].caption.startswith("needs ")
    assert not memory.fits
    assert memory.table.rows[0] == ("", "CUDA0", "CPU")


def test_another_precision_is_asked_for_once_and_moves_the_mark(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "gemma-4-12b")
    assert page.detail.memory.slider.mark == "fits until 32k"
    menu = QMenu()
    page.detail.choices._fill_precisions(menu)
    menu.actions()[2].trigger()
    qtbot.waitUntil(lambda: page.detail.memory.slider.mark == "fits until 115k")
    page.detail.choices.pick_kv_type(KvType.F16)
    page.detail.choices.pick_kv_type(KvType.Q4_0)
    requests = [what for what in asked(opened, "budget") if isinstance(what, BudgetRequest)]
    about = [what.kv_types for what in requests if what.remote and what.remote.id == "gemma-4-12b"]
    assert about == [(KvType.F16,), (KvType.Q4_0,)]


def test_a_comparison_is_counted_in_when_asked(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "gemma-4-e4b")
    assert not any("Second lane" in text for text in page.detail.memory.legend.texts)
    page.detail.choices.race.click()
    qtbot.waitUntil(lambda: any("Second lane" in text for text in page.detail.memory.legend.texts))


def test_numbers_stay_until_those_for_another_way_to_load_come(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = show(qtbot, open_app())
    page = choose(qtbot, opened, "gemma-4-e4b")
    memory = page.detail.memory
    opened.models.script = ModelsScript(budget_s=0.3)
    page.detail.choices.race.click()
    assert memory.words == "Working out what that takes…"
    assert memory.bars[0].isVisible()
    assert not memory.bars[0].isEnabled()
    qtbot.waitUntil(lambda: any("Second lane" in text for text in memory.legend.texts))
    assert memory.bars[0].isEnabled()


def test_working_out_can_be_cancelled_and_begun_again(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = show(qtbot, open_app(models=ScriptedModels(ModelsScript(budget_s=20.0))))
    memory = opened.window.models.detail.memory
    qtbot.waitUntil(lambda: memory.busy.isVisible())
    memory.busy.cancel.click()
    assert memory.words == "What it takes was not worked out."
    assert memory.busy.isHidden()
    opened.models.script = ModelsScript()
    memory.notice.buttons[0].click()
    qtbot.waitUntil(lambda: memory.n_ctx > 0)


def test_speed_or_context_is_left_to_the_person(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "gemma-4-12b")
    memory = page.detail.memory
    assert memory.choice.isHidden()
    memory.slider.slider.setValue(5)
    assert memory.choice.isVisible()
    assert "With the drafter it fits up to 32k, ≈ 42–65 tok/s" in memory.choice.words
    assert "without it up to 41k, ≈ 42–54 tok/s" in memory.choice.words
    memory.choice.speed.click()
    assert memory.n_ctx == 32_768
    memory.slider.slider.setValue(5)
    memory.choice.context.click()
    assert page.detail.subject.picked_drafter.kind is DrafterKind.NGRAM
    qtbot.waitUntil(lambda: memory.choice.isHidden())


def test_incompatible_drafters_are_shown_greyed_with_the_reason(qtbot: QtBot, opened: Opened) -> None:
    page = opened.window.models
    page.open_repo("unsloth/Qwen3.8-27B-GGUF")
    qtbot.waitUntil(lambda: page.detail.title == "Qwen3.8-27B-GGUF")
    qtbot.waitUntil(lambda: any(one.reason for one in page.detail.subject.drafters))
    menu = QMenu()
    page.detail.choices._fill_drafters(menu)
    refused = [one for one in menu.actions() if not one.isEnabled()]
    assert len(refused) == 1
    assert refused[0].text().endswith("does not fit")
    assert "hidden size 4096; this one has 5120" in refused[0].toolTip()
    assert menu.actions()[0].isChecked()
    versions = QMenu()
    page.detail.choices._fill_versions(versions)
    versions.actions()[0].trigger()
    assert page.detail.primary.text() == "Download 9.4 GB"


# ------------------------------------------------------------------------------------------- downloads


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


# ----------------------------------------------------------------------------------------------- doing


def test_load_takes_context_and_precision_along_and_shows_the_chat(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "qwen2.5-coder-1.5b")
    page.detail.choices.pick_kv_type(KvType.Q8_0)
    qtbot.waitUntil(lambda: page.detail.memory.n_ctx > 0)
    page.detail.memory.slider.slider.setValue(1)
    page.detail.primary.click()
    qtbot.waitUntil(lambda: opened.window.pages.currentIndex() == 0)
    loads = [what for name, what in opened.service.calls if name == "load"]
    assert loads[-1][1] == LoadSettings(n_ctx=4096, kv_type=KvType.Q8_0)  # type: ignore[index]
    assert opened.window.compare.picker.target.chosen == "Qwen2.5 Coder 1.5B"
    opened.window.show_page(2)
    assert page.detail.primary.text() == "Compare"
    assert ("Loaded", "310 MiB on CPU") in page.detail.facts.rows
    page.detail.primary.click()
    assert opened.window.pages.currentIndex() == 1


def test_a_load_that_does_not_fit_is_refused_here_and_can_be_forced(qtbot: QtBot, open_app: OpenApp) -> None:
    refusal = Failed(
        0, "ContextTooLarge", "This context needs 14.4 GiB; 11.2 GiB are free.", "With 32,768 tokens it fits."
    )
    opened = show(qtbot, open_app(Script(speed=40.0, load_failure=refusal)))
    page = choose(qtbot, opened, "starter")
    page.detail.primary.click()
    qtbot.waitUntil(lambda: page.detail.notice.isVisible())
    assert opened.window.pages.currentIndex() == 2
    assert page.detail.notice.sentence == refusal.sentence
    opened.service.script = Script(speed=40.0)
    (anyway,) = page.detail.notice.buttons
    assert anyway.text() == "Load anyway"
    anyway.click()
    qtbot.waitUntil(lambda: opened.window.pages.currentIndex() == 0)
    loads = [what for name, what in opened.service.calls if name == "load"]
    assert not loads[-1][1].check_memory  # type: ignore[index]


def test_deleting_is_asked_about_by_its_verb_and_keeps_by_default(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "gemma-4-e2b")
    assert page.detail.delete.text() == "Delete 3.2 GB"
    page.detail.delete.click()
    box = page.doing.question
    assert isinstance(box, QMessageBox)
    assert {one.text() for one in box.buttons()} == {"Delete 3.2 GB", "Keep"}
    assert box.defaultButton().text() == "Keep"
    QTest.keyClick(box, Qt.Key.Key_Escape)
    assert asked(opened, "remove") == []
    page.detail.delete.click()
    box = page.doing.question
    assert box is not None
    next(one for one in box.buttons() if one.text().startswith("Delete")).click()
    qtbot.waitUntil(lambda: page.detail.primary.text() == "Download 3.2 GB")
    assert asked(opened, "remove") == ["gemma-4-e2b"]
    assert page.notice.sentence == "Deleted. 3.2 GB are free again."


def test_only_what_was_downloaded_here_can_be_deleted(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "qwen2.5-coder-1.5b")
    assert page.detail.delete.isHidden()
    assert page.detail.folder.isVisible()
    assert "In LM Studio's folder" in [row.second for row in page.list.rows]


@pytest.mark.parametrize(
    "sentence", ["", "“gemma-4-E2B-it-Q4_K_M.gguf” has changed since it was downloaded."]
)
def test_verifying_ends_with_a_sentence(qtbot: QtBot, open_app: OpenApp, sentence: str) -> None:
    models = ScriptedModels(ModelsScript(verify_sentence=sentence))
    opened = show(qtbot, open_app(models=models))
    page = choose(qtbot, opened, "gemma-4-e2b")
    page.detail.verify.click()
    qtbot.waitUntil(lambda: page.detail.notice.isVisible())
    assert page.detail.notice.sentence == (sentence or "Every file is what it should be.")
    assert page.detail.verify.isEnabled()


def test_a_gate_says_what_to_do_and_takes_a_token(qtbot: QtBot, opened: Opened) -> None:
    page = choose(qtbot, opened, "llama-3.3-70b")
    gate = page.detail.gate
    assert gate.isVisible()
    assert "accept the conditions" in gate.words
    QTest.keyClicks(gate.token, "hf_secret")
    assert "hf_secret" not in gate.token.displayText()
    QTest.keyClick(gate.token, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "The Hub knows you as ada." in gate.words)
    assert asked(opened, "set_token") == ["hf_secret"]
    assert gate.token.text() == ""
    assert gate.token.isHidden()
    gate.forget.click()
    qtbot.waitUntil(lambda: gate.token.isVisible())
    page.list.choose("gemma-4-e4b")
    assert gate.isHidden()


# -------------------------------------------------------------------------------------- offline, measuring


def test_offline_is_a_state_with_a_name_and_everything_here_still_works(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    opened = show(qtbot, open_app(models=ScriptedModels(ModelsScript(online=False))))
    page = opened.window.models
    page.search.edit.setText("qwen2.5")
    qtbot.waitUntil(lambda: page.offline.isVisible())
    assert page.offline.sentence.startswith("You are offline")
    qtbot.waitUntil(lambda: any("Press here to search again" in row.title for row in page.list.rows))
    choose(qtbot, opened, "qwen2.5-coder-1.5b")
    assert page.detail.primary.text() == "Load"
    opened.models.script = ModelsScript()
    page.offline.buttons[0].click()
    qtbot.waitUntil(lambda: not page.hub.is_searching)
    assert page.offline.isHidden()
    assert not any("search again" in row.title for row in page.list.rows)


def test_a_page_of_the_hub_that_does_not_open_says_so_in_its_place(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = show(qtbot, open_app(models=ScriptedModels(ModelsScript(online=False))))
    page = opened.window.models
    page.open_repo("unsloth/Qwen3.8-27B-GGUF")
    assert page.side.currentWidget() is page.lesson
    qtbot.waitUntil(lambda: page.lesson.notice.isVisible())
    opened.models.script = ModelsScript()
    page.lesson.notice.buttons[0].click()
    qtbot.waitUntil(lambda: page.detail.title == "Qwen3.8-27B-GGUF")


def test_measuring_shows_how_far_it_is_and_can_be_cancelled(qtbot: QtBot, open_app: OpenApp) -> None:
    models = ScriptedModels(ModelsScript(speed=ComputerSpeed(), measure_s=20.0))
    page = show(qtbot, open_app(models=models)).window.models
    assert page.measure.go.text() == "Measure this computer"
    page.measure.go.click()
    qtbot.waitUntil(lambda: "Reading weights on the GPU" in page.measure.words)
    page.measure.go.click()
    qtbot.waitUntil(lambda: page.measure.go.text() == "Measure this computer")
    models.script = ModelsScript(measure_s=0.1)
    page.measure.go.click()
    qtbot.waitUntil(lambda: page.measure.words.replace("\u2060", "") == "CUDA0 reads 431 GB/s")
    assert page.notice.isHidden()


def test_a_folder_dropped_on_the_window_is_looked_into(qtbot: QtBot, opened: Opened, tmp_path: Path) -> None:
    opened.window.show_page(1)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path))])
    event = QDropEvent(
        QPointF(5, 5),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    opened.window.dropEvent(event)
    qtbot.waitUntil(lambda: opened.window.models.detail._state.folders == (str(tmp_path),))
    assert opened.window.pages.currentIndex() == 2


def test_a_bundle_of_the_hub_is_downloaded_as_picked(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = show(qtbot, open_app(models=ScriptedModels(SLOW_DOWNLOAD)))
    page = opened.window.models
    page.open_repo("unsloth/Qwen3.8-27B-GGUF")
    qtbot.waitUntil(lambda: page.detail.title == "Qwen3.8-27B-GGUF")
    page.detail.primary.click()
    (bundle,) = asked(opened, "download")
    assert isinstance(bundle, RemoteBundle)
    assert bundle.drafter_kind is DrafterKind.MTP
    qtbot.waitUntil(lambda: page.detail.download.isVisible())


def test_what_was_downloaded_from_the_hub_is_loaded_from_its_page(qtbot: QtBot, opened: Opened) -> None:
    page = opened.window.models
    page.open_repo("unsloth/Qwen3.8-27B-GGUF")
    qtbot.waitUntil(lambda: page.detail.title == "Qwen3.8-27B-GGUF")
    page.detail.primary.click()
    qtbot.waitUntil(lambda: page.detail.primary.text() == "Load", timeout=5000)
    page.detail.choices._pick_version(0)
    assert page.detail.primary.text() == "Download 9.4 GB"
    page.detail.choices._pick_version(2)
    page.detail.primary.click()
    qtbot.waitUntil(lambda: opened.window.pages.currentIndex() == 0)
    assert opened.window.chat.picker.target.chosen == "Qwen3.8-27B-GGUF Q4_K_M"


def test_the_pickers_offer_what_the_shelf_holds(qtbot: QtBot, opened: Opened) -> None:
    menu = QMenu()
    opened.window.compare.picker._fill_targets(menu)
    names = [one.text() for one in menu.actions()]
    assert names[:3] == ["Gemma 4 E2B", "Starter: SmolLM2 135M", "Qwen2.5 Coder 1.5B"]


def test_going_offline_and_back_is_followed(qtbot: QtBot, opened: Opened) -> None:
    page = opened.window.models
    opened.models.tell(ConnectionChanged(False))
    qtbot.waitUntil(lambda: page.offline.isVisible())
    opened.models.tell(ConnectionChanged(True))
    qtbot.waitUntil(lambda: page.offline.isHidden())
