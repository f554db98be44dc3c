"""What a measurement leaves: a result for another day, or where the next one goes on."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from engine.models.bundle import Bundle, DrafterChoice, DrafterKind
from engine.models_service import BudgetRequest
from tests.app.conftest import BUNDLES, OpenApp
from tests.app.scripted_bench import BenchScript, result_of
from tests.app.scripted_service import Script
from tests.app.test_tune import finish, measure, opened_page, small


def test_what_was_found_is_kept_and_shown_again_another_day(qtbot: QtBot, open_app: OpenApp) -> None:
    bench = BenchScript()
    page = opened_page(open_app, bench=bench).window.tune
    measure(qtbot, page)
    qtbot.waitUntil(lambda: len(bench.kept) == 1, timeout=5000)
    bundle, result = bench.kept[0]
    assert (bundle.target, result.is_complete) == (BUNDLES[0].target, True)
    bench.shelf[bundle.target] = result
    again = opened_page(open_app, bench=bench).window.tune
    qtbot.waitUntil(again.result.isVisible, timeout=5000)
    assert again.result.sentence == page.result.sentence
    again._session.choose(BUNDLES[1])
    qtbot.waitUntil(again.lesson.isVisible, timeout=5000)
    assert again.result.isHidden()
    again._session.choose(BUNDLES[0])
    assert again.result.isVisible()


def test_cancel_keeps_what_was_measured_and_does_not_store_it(qtbot: QtBot, open_app: OpenApp) -> None:
    bench = BenchScript()
    page = opened_page(open_app, Script(text="One two three four.", speed=6.0), bench).window.tune
    small(page, "coding", "editing", "creative")
    page.start()
    qtbot.waitUntil(lambda: page.result.table.rowCount() > 1, timeout=20_000)
    QTest.keyClick(page, Qt.Key.Key_Escape)
    finish(qtbot, page)
    assert page.result.isVisible()
    assert "not complete" in page.result._facts.text()
    assert page.result.sentence.startswith("Best so far: draft length ")
    assert page.result.table.cell(1, 0) == "1.00×"
    assert page.result.apply.isVisible()
    assert bench.kept == []
    assert not bench.benches[0].is_forgotten


def test_what_was_broken_off_does_not_hide_a_whole_result(qtbot: QtBot, open_app: OpenApp) -> None:
    whole = result_of(BUNDLES[0])
    bench = BenchScript(shelf={BUNDLES[0].target: whole})
    page = opened_page(open_app, Script(text="One two three four.", speed=6.0), bench).window.tune
    qtbot.waitUntil(page.result.isVisible, timeout=5000)
    small(page, "coding", "editing")
    page.start()
    qtbot.waitUntil(lambda: bool(page.run.result and page.run.result.figures), timeout=20_000)
    page.stop()
    finish(qtbot, page)
    assert page._shown is not None
    assert page._shown[1].figures == whole.figures
    assert page.notice.sentence.startswith("What was broken off is not shown")


def test_what_goes_on_from_earlier_can_be_begun_anew(qtbot: QtBot, open_app: OpenApp) -> None:
    bench = BenchScript(n_resumed=24)
    page = opened_page(open_app, Script(text="One two three four.", speed=20.0), bench).window.tune
    small(page, "coding")
    page.start()
    qtbot.waitUntil(page.notice.isVisible, timeout=10_000)
    assert page.notice.sentence == (
        "It goes on where it was broken off: 24 answers had been measured before."
    )
    (anew,) = page.notice.buttons
    anew.click()
    qtbot.waitUntil(lambda: len(bench.benches) == 2, timeout=10_000)
    assert bench.benches[0].is_forgotten
    finish(qtbot, page)
    qtbot.waitUntil(lambda: len(bench.kept) == 1, timeout=5000)


def test_a_result_that_cannot_be_kept_is_said_and_can_still_be_gone_on_from(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    bench = BenchScript(is_full=True)
    page = opened_page(open_app, bench=bench).window.tune
    measure(qtbot, page)
    qtbot.waitUntil(page.notice.isVisible, timeout=5000)
    assert page.notice.sentence.startswith("The result could not be kept (no space left on device)")
    assert not bench.benches[0].is_forgotten
    assert page.result.isVisible()


def test_the_advice_says_what_the_drafter_takes_as_the_models_page_does(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    bundle = Bundle("A pair", "/models/target.gguf", DrafterChoice(DrafterKind.MODEL, "/models/small.gguf"))
    bench = BenchScript(shelf={bundle.target: result_of(bundle)})
    opened = opened_page(open_app, bench=bench)
    page = opened.window.tune
    page._session.choose(bundle)
    qtbot.waitUntil(lambda: "What drafts takes" in page.result.advice, timeout=5000)
    assert "MiB of memory" in page.result.advice or "GiB of memory" in page.result.advice
    assert [what for name, what in opened.models.calls if name == "budget"] == [BudgetRequest(bundle)]


def test_what_is_kept_needs_nothing_to_go_on_from(qtbot: QtBot, open_app: OpenApp) -> None:
    bench = BenchScript()
    page = opened_page(open_app, bench=bench).window.tune
    measure(qtbot, page)
    qtbot.waitUntil(lambda: bench.benches[0].is_forgotten, timeout=5000)
