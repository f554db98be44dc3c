"""Tuning, from what is measured to what is taken over, and what happens when something is in the way."""

from __future__ import annotations

import json
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.draft_lengths import draft_length_of
from app.pages.tune import TunePage
from app.tune.run import TunePhase
from app.tune.summary import Figure
from engine.bench.plan import AUTO, OFF
from engine.models.bundle import NO_DRAFTER, Bundle
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import Failed
from tests.app.conftest import BUNDLES, OpenApp, Opened
from tests.app.scripted_bench import TASKS, BenchScript, result_of
from tests.app.scripted_service import Script

QUICK = Script(text="One two three four.", speed=400.0)
SLOW = Script(speed=1.0)
TUNE = 3


def opened_page(open_app: OpenApp, script: Script = QUICK, bench: BenchScript | None = None) -> Opened:
    opened = open_app(script, bench=bench)
    opened.window.show_page(TUNE)
    return opened


def finish(qtbot: QtBot, page: TunePage) -> None:
    qtbot.waitUntil(lambda: page.run.phase is TunePhase.IDLE, timeout=30_000)


def small(page: TunePage, *kinds: str, modes: tuple[str, ...] = (AUTO, "2")) -> None:
    """Choose few things to measure."""
    for kind, chip in page.plan.kinds.buttons.items():
        chip.setChecked(kind in kinds)
    for mode, chip in page.plan.modes.buttons.items():
        chip.setChecked(mode in modes)


def measure(qtbot: QtBot, page: TunePage, *kinds: str) -> None:
    small(page, *(kinds or ("coding", "creative")))
    page.start()
    finish(qtbot, page)


def test_an_empty_page_says_what_it_is_for(open_app: OpenApp) -> None:
    page = opened_page(open_app).window.tune
    assert page.lesson.isVisible()
    assert page.result.isHidden()
    assert "can be taken over with one click" in page.lesson.words
    assert page.plan.size_words == "48 answers, at most 1,152 tokens"


def test_without_a_model_the_page_says_how_to_get_one(qtbot: QtBot, open_app: OpenApp) -> None:
    window = open_app(QUICK, bundles=()).window
    window.show_page(TUNE)
    assert "get a model on the Models page" in window.tune.lesson.words
    window.tune.start()
    assert window.tune.notice.sentence == "No model is chosen yet."
    assert [one.text() for one in window.tune.notice.buttons] == ["Choose a model"]


def test_every_prompt_is_answered_in_every_mode_from_an_empty_cache(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = opened_page(open_app)
    page = opened.window.tune
    measure(qtbot, page)
    asked = [what for name, what in opened.service.calls if name == "generate"]
    lengths = []
    for what in asked:
        assert isinstance(what, tuple)
        assert isinstance(what[1], GenerationSettings)
        lengths.append((what[1].draft_length, what[2]))
    assert sorted(lengths, key=str) == sorted([(0, False), (None, True), (2, True)] * 2, key=str)
    assert [name for name, _ in opened.service.calls if name == "load"] == ["load"]


def test_figures_come_while_it_runs_and_the_proposal_at_its_end(qtbot: QtBot, open_app: OpenApp) -> None:
    page = opened_page(open_app, Script(text="One two three four.", speed=10.0)).window.tune
    small(page, "coding", "creative")
    page.start()
    qtbot.waitUntil(lambda: page.result.table.rowCount() > 1, timeout=20_000)
    assert page.run.phase is TunePhase.MEASURING
    assert page.progress.isVisible()
    assert " of 6 · " in page.progress.words
    assert page.result.apply.isHidden()
    finish(qtbot, page)
    assert page.progress.isHidden()
    assert page.result.sentence.startswith("Best for you: draft length ")
    assert page.result.apply.isVisible()
    assert page.result.advice.startswith("Yes, with draft length auto it writes ")
    assert [page.result.table.cell(1, x) for x in range(3)] == ["1.00×", "1.81×", "1.88×"]
    assert [line.name for line in page.result.chart.lines] == ["All kinds", "Coding", "Creative"]
    assert "Coding: Off 1.00×" in page.result.chart.accessibleName()


def test_another_figure_is_one_click_away(qtbot: QtBot, open_app: OpenApp) -> None:
    page = opened_page(open_app).window.tune
    measure(qtbot, page)
    chips = page.result._chips.buttons()
    for chip, shown in zip(chips, ("1.81×", "43.4 tok/s", "69 %", "2.39"), strict=True):
        chip.click()
        assert page.result.table.cell(1, 1) == shown
    assert page.result.table.figure is Figure.LENGTH


def test_a_row_that_is_looked_at_stands_out_in_the_chart(qtbot: QtBot, open_app: OpenApp) -> None:
    page = opened_page(open_app).window.tune
    measure(qtbot, page)
    page.result.table.setFocus()
    page.result.table.setCurrentCell(1, 0)
    QTest.keyClick(page.result.table, Qt.Key.Key_Down)
    assert page.result.chart.chosen == "Creative"
    assert page.result.kind_advice.startswith("Creative: ")
    page.result.table.setCurrentCell(0, 0)
    assert page.result.kind_advice == ""


def test_apply_makes_the_best_the_draft_length_of_this_bundle_everywhere(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    opened = opened_page(open_app)
    window, page = opened.window, opened.window.tune
    small(page, "editing", modes=("4", "8"))
    page.start()
    finish(qtbot, page)
    page.result.apply.click()
    assert "From now on Starter: SmolLM2 135M answers with draft length 8" in page.result.applied
    assert window.compare.options.draft_length.value == 8
    settings = page._keeper.settings
    assert [draft_length_of(settings, bundle) for bundle in BUNDLES] == [8, None]
    window.show_page(0)
    window.chat.composer.edit.setPlainText("Hello")
    window.chat.send()
    qtbot.waitUntil(lambda: window.chat.run.phase == "idle", timeout=20_000)
    last = [what for name, what in opened.service.calls if name == "generate"][-1]
    assert isinstance(last, tuple)
    assert last[1].draft_length == 8


def test_loading_can_be_cancelled_before_anything_is_measured(qtbot: QtBot, open_app: OpenApp) -> None:
    page = opened_page(open_app, Script(load_s=200.0)).window.tune
    page.start()
    assert page.run.phase is TunePhase.LOADING
    page.start_button.click()
    finish(qtbot, page)
    assert page.lesson.isVisible()
    assert page.notice.isHidden()


def test_nothing_is_measured_where_nothing_can_be_compared(open_app: OpenApp) -> None:
    page = opened_page(open_app).window.tune
    small(page)
    assert page.plan.size_words == "Nothing to compare"
    page.start()
    assert page.notice.sentence == "There is nothing to compare yet."
    page._session.choose(Bundle("x", BUNDLES[0].target, NO_DRAFTER))
    page.start()
    assert page.notice.sentence.startswith("Nobody guesses ahead")
    assert [one.text() for one in page.notice.buttons] == ["Choose a drafter"]


def test_a_model_that_cannot_be_loaded_is_said_in_place_and_can_be_loaded_anyway(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    failure = Failed(
        0, "LoadFailed", "This model needs 5.1 GiB of memory, 3.2 GiB are free.", "Close programs."
    )
    page = opened_page(open_app, Script(load_failure=failure)).window.tune
    page.start()
    qtbot.waitUntil(page.notice.isVisible, timeout=5000)
    assert page.notice.sentence == failure.sentence
    assert [one.text() for one in page.notice.buttons] == ["Load anyway"]
    assert page.run.phase is TunePhase.IDLE


def test_a_drafter_that_does_not_fit_is_said_with_a_way_to_another(qtbot: QtBot, open_app: OpenApp) -> None:
    said = "This drafter does not fit the target: this model has no MTP head inside."
    failure = Failed(0, "PairUnfit", said, "Choose another drafter.")
    window = opened_page(open_app, Script(load_failure=failure)).window
    window.tune.start()
    qtbot.waitUntil(window.tune.notice.isVisible)
    window.compare.start()
    qtbot.waitUntil(lambda: window.compare.notice.sentence == said)
    assert window.tune.notice.sentence == said
    for notice in (window.tune.notice, window.compare.notice):
        assert [one.text() for one in notice.buttons] == ["Choose another drafter"]


def test_what_could_not_be_measured_is_said(qtbot: QtBot, open_app: OpenApp) -> None:
    bench = BenchScript(left_out=("a prompt of coding (coding-3): The prompt is too long.",))
    page = opened_page(open_app, bench=bench).window.tune
    measure(qtbot, page)
    assert page.result.left_out == "Left out: a prompt of coding (coding-3): The prompt is too long."


def test_a_measurement_that_came_to_nothing_says_why(qtbot: QtBot, open_app: OpenApp) -> None:
    bench = BenchScript(left_out=("The model's process was ended by the system.",))
    failure = Failed(0, "DecodeFailed", "It failed.")
    page = opened_page(open_app, Script(failure=failure), bench).window.tune
    page.start()
    qtbot.waitUntil(page.notice.isVisible, timeout=10_000)
    assert page.notice.sentence == "The model's process was ended by the system."
    assert [one.text() for one in page.notice.buttons] == ["Try again"]
    assert page.lesson.isVisible()


def test_what_is_to_be_measured_is_remembered(qtbot: QtBot, open_app: OpenApp) -> None:
    first = opened_page(open_app).window
    small(first.tune, "maths", modes=("3", AUTO))
    first.tune.plan.repeat.setValue(3)
    first.tune.plan.temperature.setValue(0.7)
    wanted = first.tune.plan.settings
    first.close()
    assert open_app(QUICK).window.tune.plan.settings == wanted
    assert first.tune.plan.plan.modes == (OFF, AUTO, "3")
    assert len(first.tune.plan.plan.tasks) == 1


def test_the_card_is_copied_and_saved_in_every_form(qtbot: QtBot, open_app: OpenApp, tmp_path: Path) -> None:
    bench = BenchScript(shelf={BUNDLES[0].target: result_of(BUNDLES[0])})
    page = opened_page(open_app, bench=bench).window.tune
    qtbot.waitUntil(page.result.isVisible, timeout=5000)
    page.result.share_asked.emit("markdown")
    assert QApplication.clipboard().text() == "# Starter: SmolLM2 135M\n"
    page.result.share_asked.emit("json")
    assert json.loads(QApplication.clipboard().text())["bundle"] == "Starter: SmolLM2 135M"
    page.result.share_asked.emit("picture")
    assert QApplication.clipboard().image().width() > 2000
    assert page._shown is not None
    for name in ("card.png", "card.md", "card.json"):
        page.sharing.save(page._shown[1], tmp_path / name)
    qtbot.waitUntil(
        lambda: all((tmp_path / f"card.{end}").exists() for end in ("png", "md", "json")), timeout=5000
    )
    qtbot.waitUntil(lambda: not QImage(str(tmp_path / "card.png")).isNull(), timeout=5000)
    assert (tmp_path / "card.md").read_text() == "# Starter: SmolLM2 135M\n"
    assert json.loads((tmp_path / "card.json").read_text())["temperature"] == 0.0
    page.sharing.save(page._shown[1], tmp_path / "no such folder" / "card.md")
    qtbot.waitUntil(page.notice.isVisible, timeout=5000)
    assert page.notice.sentence == "The result cannot be saved as card.md (no such file or directory)."


def test_the_page_works_by_keyboard(qtbot: QtBot, open_app: OpenApp) -> None:
    window = open_app(QUICK).window
    window.activateWindow()
    QTest.keyClick(window, Qt.Key.Key_4, Qt.KeyboardModifier.ControlModifier)
    page = window.tune
    assert window.pages.currentWidget() is page
    small(page, "coding", modes=("2",))
    QTest.keyClick(page.plan.kinds.buttons["maths"], Qt.Key.Key_Space)
    assert page.plan.settings.without == tuple(
        kind for kind in dict.fromkeys(task.category for task in TASKS) if kind not in ("coding", "maths")
    )
    QTest.keyClick(window, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert page.run.phase is not TunePhase.IDLE
    finish(qtbot, page)
    assert page.result.isVisible()
