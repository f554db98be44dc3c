"""The list of models: searching, filtering, paging, and all of it by keyboard."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine.recommend.advice import ComputerSpeed
from tests.app.conftest import OpenApp, Opened
from tests.app.model_facts import ENTRIES, HERE, OFFERS
from tests.app.models_page import SLOW_DOWNLOAD, asked, choose, searches, show
from tests.app.models_page import opened as opened
from tests.app.scripted_models import ModelsScript, ScriptedModels


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
