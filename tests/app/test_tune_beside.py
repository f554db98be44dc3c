"""One engine for all pages: what else may run while the Tune page measures, and what ends its measurement."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app.session import MEASUREMENT
from app.tune.run import TunePhase
from app.tune.tools import BenchTools, Measured
from app.window import Window
from engine.bench.machine import machine_of
from engine.bench.plan import BenchPlan
from engine.bench.service_bench import ServiceBench
from tests.app.conftest import BUNDLES, OpenApp
from tests.app.scripted_bench import BenchScript, result_of
from tests.app.scripted_service import Script
from tests.app.test_tune import SLOW, finish, opened_page, small


def test_a_running_comparison_is_named_and_can_be_stopped(qtbot: QtBot, open_app: OpenApp) -> None:
    window = opened_page(open_app, SLOW).window
    window.compare.start()
    qtbot.waitUntil(lambda: window.compare.run.phase == "racing", timeout=10_000)
    window.tune.start()
    assert window.tune.notice.sentence.startswith("The comparison that is running would falsify")
    assert window.tune.run.phase is TunePhase.IDLE
    (stop,) = window.tune.notice.buttons
    stop.click()
    qtbot.waitUntil(lambda: window.compare.run.phase == "idle", timeout=10_000)


@pytest.fixture
def measuring(qtbot: QtBot, open_app: OpenApp) -> Window:
    window = opened_page(open_app, Script(speed=2.0)).window
    window.tune.start()
    qtbot.waitUntil(lambda: window.tune.run.phase is TunePhase.MEASURING, timeout=10_000)
    return window


def test_nothing_else_runs_beside_a_measurement(qtbot: QtBot, measuring: Window) -> None:
    window = measuring
    window.compare.start()
    assert window.compare.notice.sentence.startswith("The Tune page is measuring")
    assert window.compare.run.phase == "idle"
    window.chat.composer.edit.setPlainText("Hello")
    window.chat.send()
    assert window.chat.notice.sentence.startswith("The Tune page is measuring")
    assert window.chat.composer.text == "Hello"
    (stop,) = window.chat.notice.buttons
    stop.click()
    finish(qtbot, window.tune)
    window.chat.send()
    assert window.chat.run.phase != "idle"


def test_another_model_that_is_loaded_ends_the_measurement(qtbot: QtBot, measuring: Window) -> None:
    session = measuring.tune._session
    assert session.running == MEASUREMENT
    session.choose(BUNDLES[1])
    session.load_choice()
    finish(qtbot, measuring.tune)
    assert session.running == ""


def test_an_answer_is_not_given_again_beside_a_measurement(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = opened_page(open_app, Script(text="One two three four.", speed=20.0))
    window = opened.window
    window.chat.composer.edit.setPlainText("Hello")
    window.chat.send()
    qtbot.waitUntil(lambda: window.chat.run.phase == "idle", timeout=20_000)
    window.tune.start()
    qtbot.waitUntil(lambda: window.tune.run.phase is TunePhase.MEASURING, timeout=10_000)
    (turn,) = window.chat.run.conversation.turns
    for again in (window.chat.regenerate, lambda: window.chat._answer(turn, check_memory=False)):
        window.chat.notice.hide()
        again()
        assert window.chat.notice.sentence.startswith("The Tune page is measuring")
        assert window.chat.run.phase == "idle"
    assert len(turn.answers) == 1


@pytest.mark.parametrize("is_first", [True, False])
def test_of_two_that_wait_for_the_model_only_one_begins(
    qtbot: QtBot, open_app: OpenApp, is_first: bool
) -> None:
    window = opened_page(open_app, Script(speed=1.0, load_s=0.5)).window
    starts = (window.tune.start, window.compare.start)
    for start in starts if is_first else reversed(starts):
        start()
    assert (window.tune.run.phase, window.compare.run.phase) == ("loading", "loading")
    qtbot.waitUntil(lambda: bool(window.tune._session.running), timeout=10_000)
    qtbot.wait(50)
    is_tune_idle = window.tune.run.phase == "idle"
    assert is_tune_idle != (window.compare.run.phase == "idle")
    notice = window.tune.notice if is_tune_idle else window.compare.notice
    assert "measur" in notice.sentence


def test_a_measurement_does_not_begin_beside_an_answer_that_waited_too(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    window = opened_page(open_app, Script(speed=1.0, load_s=0.5)).window
    window.chat.composer.edit.setPlainText("Hello")
    window.chat.send()
    window.tune.start()
    qtbot.waitUntil(lambda: window.chat.run.phase != "loading", timeout=10_000)
    qtbot.wait(50)
    assert (window.chat.run.phase == "idle") != (window.tune.run.phase == "idle")


def test_a_result_is_not_shown_under_the_name_of_another_bundle(qtbot: QtBot, open_app: OpenApp) -> None:
    other = result_of(BUNDLES[1], kinds=("coding", "maths"))
    bench = BenchScript(shelf={BUNDLES[1].target: other})
    window = opened_page(open_app, Script(text="One two three four.", speed=20.0), bench).window
    page = window.tune
    small(page, "coding", "creative")
    page.start()
    qtbot.waitUntil(lambda: page.run.phase is TunePhase.MEASURING, timeout=10_000)
    page._session.choose(BUNDLES[1])
    finish(qtbot, page)
    qtbot.waitUntil(page.result.isVisible, timeout=5000)
    assert page._shown is not None
    assert (page._shown[0], page._shown[1].figures) == (BUNDLES[1], other.figures)
    qtbot.waitUntil(lambda: [bundle for bundle, _ in bench.kept] == [BUNDLES[0]], timeout=5000)


class EnginesBench(BenchScript):
    """The engine's own bench over the scripted engine."""

    def tools(self) -> BenchTools:
        return replace(super().tools(), make=self._make_real)

    def _make_real(self, plan: BenchPlan, measured: Measured) -> ServiceBench:
        machine = machine_of(measured.loaded, measured.llama_cpp, measured.settings)
        return ServiceBench(plan, measured.bundle, machine)


def test_a_lost_process_is_loaded_again_and_the_measurement_goes_on(qtbot: QtBot, open_app: OpenApp) -> None:
    bench = EnginesBench()
    page = opened_page(open_app, Script(speed=50.0, lost_after_rounds=3), bench).window.tune
    small(page, "coding", "creative")
    page.start()
    finish(qtbot, page)
    result = page.run.result
    assert result is not None
    assert (result.is_complete, result.left_out, len(result.runs)) == (True, (), 6)
    assert page.result.sentence.startswith("Best for you: ")
    qtbot.waitUntil(lambda: len(bench.kept) == 1, timeout=5000)


def test_the_window_can_be_closed_in_the_middle(qtbot: QtBot, measuring: Window) -> None:
    assert measuring.close()
    qtbot.wait(50)
    assert not measuring.isVisible()


def test_nothing_is_measured_or_counted_on_the_models_page_meanwhile(qtbot: QtBot, measuring: Window) -> None:
    models = measuring.models
    assert not models.measure.go.isEnabled()
    assert models.budgets.is_held
    measuring.tune.stop()
    finish(qtbot, measuring.tune)
    assert models.measure.go.isEnabled()
    assert not models.budgets.is_held
