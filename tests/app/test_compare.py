"""Comparing, from the prompt to the verdict, and what happens when something goes wrong on the way."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app import format as fmt
from app.pages.compare import ComparePage
from app.pages.compare_run import RunPhase
from app.session import ModelPhase
from engine.measure.metrics import measure
from engine.service import WorkerLost
from engine.worker.messages import Failed, LoadSettings
from tests.app.conftest import BUNDLES, OpenApp
from tests.app.scripted_service import Script

FAST = Script(speed=20.0)


def finish(qtbot: QtBot, page: ComparePage) -> None:
    qtbot.waitUntil(lambda: page.run.phase is RunPhase.IDLE, timeout=20_000)


def run(qtbot: QtBot, page: ComparePage) -> None:
    """Run the prompt until it has ended."""
    page.start()
    finish(qtbot, page)


def test_both_lanes_stream_and_the_verdict_says_what_speculation_bought(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    page = open_app(FAST).window.compare
    QTest.mouseClick(page.prompt.run, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.speculative.view.n_tokens > 20, timeout=10_000)
    assert "So far" in page.verdict.sentence
    finish(qtbot, page)
    assert page.plain.view.toPlainText() == page.speculative.view.toPlainText() == FAST.text
    assert page.verdict.sentence.startswith("faster: ")
    assert "same text" in page.verdict.detail
    assert page.plain.state == page.speculative.state == "finished"


def test_every_figure_is_the_one_that_the_rounds_give(qtbot: QtBot, open_app: OpenApp) -> None:
    page = open_app(FAST).window.compare
    run(qtbot, page)
    assert page.run.race is not None
    for pane, lane in ((page.plain, page.run.race.plain), (page.speculative, page.run.race.speculative)):
        metrics = measure(lane.rounds)
        assert pane.speed.value == fmt.tokens_per_s(metrics.tokens_per_s)
        assert pane.first_token.value == fmt.duration(metrics.ttft_s)
        assert pane.per_token.value == fmt.duration(metrics.tpot_s)
        assert pane.tokens.value == str(metrics.n_tokens)
        assert pane.per_pass.value == fmt.ratio(metrics.mean_accepted_length)
    metrics = measure(page.run.race.speculative.rounds)
    assert page.speculative.acceptance.value == fmt.share(metrics.acceptance_rate)
    assert page.speculative.positions.shares == tuple(
        a / d for a, d in zip(metrics.accepted_by_position, metrics.drafted_by_position, strict=True)
    )


def test_a_race_that_was_lost_is_called_so(qtbot: QtBot, open_app: OpenApp) -> None:
    page = open_app(replace(FAST, accept=(0,), slow_check=1.4)).window.compare
    run(qtbot, page)
    assert page.verdict.sentence.startswith("slower: ")


def test_stop_ends_both_lanes_and_keeps_their_text(qtbot: QtBot, open_app: OpenApp) -> None:
    page = open_app(replace(FAST, speed=2.0)).window.compare
    page.start()
    qtbot.waitUntil(lambda: page.plain.view.n_tokens > 5, timeout=10_000)
    QTest.keyClick(page.prompt.edit, Qt.Key.Key_Escape)
    finish(qtbot, page)
    assert page.plain.state == page.speculative.state == "stopped"
    assert page.plain.view.n_tokens > 5
    assert "cut off after" in page.verdict.detail
    assert page.verdict.sentence.startswith(("So far", "Waiting"))
    assert page.notice.isHidden()


def test_the_first_different_token_is_marked_in_both_panes(qtbot: QtBot, open_app: OpenApp) -> None:
    page = open_app(replace(FAST, difference_at=12)).window.compare
    run(qtbot, page)
    for pane in (page.plain, page.speculative):
        assert len(pane.view.extraSelections()) == 1
    assert "same text up to token 13" in page.verdict.detail


def test_a_difference_whose_gap_was_not_measured_is_marked_all_the_same(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    page = open_app(replace(FAST, difference_at=12, logit_gap=None)).window.compare
    run(qtbot, page)
    for pane in (page.plain, page.speculative):
        assert len(pane.view.extraSelections()) == 1
        assert "gap not measured" in pane._difference.toolTip()
    page.copy_result("markdown")
    assert "part at token 13 (gap not measured)" in QApplication.clipboard().text()
    page.copy_result("json")
    assert json.loads(QApplication.clipboard().text())["first_difference"]["logit_gap"] is None


def test_loading_shows_how_far_it_is_and_can_be_cancelled(qtbot: QtBot, open_app: OpenApp) -> None:
    page = open_app(replace(FAST, load_s=200.0)).window.compare
    page.start()
    qtbot.waitUntil(page.loading.isVisible, timeout=5000)
    assert "Loading Starter: SmolLM2 135M" in page.loading.words
    page.stop()
    finish(qtbot, page)
    assert page.loading.isHidden()
    assert page.notice.isHidden()


def test_another_model_chosen_while_one_loads_is_the_one_that_races(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = open_app(replace(FAST, load_s=6.0))
    page = opened.window.compare
    page.start()
    qtbot.waitUntil(lambda: page.run.phase is RunPhase.LOADING, timeout=5000)
    page.picker._session.choose(BUNDLES[1])
    finish(qtbot, page)
    assert page.run.race is not None
    assert page.run.race.bundle == BUNDLES[1]
    assert page.plain.view.toPlainText() == FAST.text
    assert page.loading.isHidden()


def test_stop_while_loading_frees_the_page_at_once_and_nothing_races_later(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    opened = open_app(replace(FAST, load_s=2.0))
    opened.service.deaf = True
    page = opened.window.compare
    page.start()
    with qtbot.waitSignal(page.picker._session.bridge.loaded, timeout=5000):
        page.stop()
        assert page.run.phase is RunPhase.IDLE
    assert page.run.phase is RunPhase.IDLE
    assert page.picker._session.state.phase is ModelPhase.EMPTY
    assert [name for name, _ in opened.service.calls] == ["load", "cancel"]


def test_run_right_after_stop_loads_anew(qtbot: QtBot, open_app: OpenApp) -> None:
    page = open_app(replace(FAST, load_s=2.0)).window.compare
    page.start()
    page.stop()
    page.start()
    finish(qtbot, page)
    assert page.plain.view.toPlainText() == FAST.text


def test_a_bundle_that_does_not_load_says_why_and_what_to_do(qtbot: QtBot, open_app: OpenApp) -> None:
    failure = Failed(
        0, "VocabularyMismatch", "The vocabularies differ.", "Choose another drafter.", "token 7 differs"
    )
    page = open_app(replace(FAST, load_failure=failure)).window.compare
    run(qtbot, page)
    assert page.notice.sentence == "The vocabularies differ."
    assert [button.accessibleName() for button in page.notice.buttons] == ["Choose another drafter"]


def test_a_context_that_does_not_fit_can_be_loaded_anyway(qtbot: QtBot, open_app: OpenApp) -> None:
    failure = Failed(0, "ContextTooLarge", "The context does not fit the memory.", "Choose a smaller one.")
    opened = open_app(replace(FAST, load_failure=failure))
    page = opened.window.compare
    run(qtbot, page)
    assert [button.accessibleName() for button in page.notice.buttons] == ["Load anyway"]
    opened.service.script = FAST
    page.notice.buttons[0].click()
    finish(qtbot, page)
    loads = [what for name, what in opened.service.calls if name == "load"]
    assert [what[1] for what in loads if isinstance(what, tuple)] == [
        LoadSettings(),
        LoadSettings(check_memory=False),
    ]
    assert page.plain.view.toPlainText() == FAST.text


def test_a_second_cache_that_does_not_fit_is_loaded_anyway_by_loading_again(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    failure = Failed(0, "ContextTooLarge", "A comparison needs a second cache of 9.0 GiB on CPU; …", "Close…")
    opened = open_app(replace(FAST, failure=failure))
    page = opened.window.compare
    run(qtbot, page)
    opened.service.script = FAST
    page.notice.buttons[0].click()
    finish(qtbot, page)
    loads = [what[1] for name, what in opened.service.calls if name == "load" and isinstance(what, tuple)]
    assert loads == [LoadSettings(), LoadSettings(check_memory=False)]
    assert [name for name, _ in opened.service.calls] == ["load", "race", "load", "race"]
    assert page.notice.isHidden()


@pytest.mark.parametrize(
    ("kind", "sentence", "verb"),
    [
        (
            "ContextTooLarge",
            "This context of 8,192 tokens needs 9.0 GiB, 2.0 GiB are free for it.",
            "Load anyway",
        ),
        ("ContextTooLarge", "This model looks back at most 512 tokens; a context of 2,048 was…", "Try again"),
        ("LoadFailed", "This model needs 90.0 GiB, 2.0 GiB are free for it.", "Load anyway"),
        ("LoadFailed", "llama.cpp could not load the model.", "Try again"),
    ],
)
def test_load_anyway_is_offered_only_where_it_helps(
    qtbot: QtBot, open_app: OpenApp, kind: str, sentence: str, verb: str
) -> None:
    page = open_app(replace(FAST, load_failure=Failed(0, kind, sentence, ""))).window.compare
    run(qtbot, page)
    assert [button.accessibleName() for button in page.notice.buttons] == [verb]


def test_a_prompt_that_is_refused_says_so_where_the_person_is(qtbot: QtBot, open_app: OpenApp) -> None:
    failure = Failed(0, "PromptTooLong", "The prompt has 9000 tokens, the context holds 8192.", "Shorten it.")
    page = open_app(replace(FAST, failure=failure)).window.compare
    run(qtbot, page)
    assert page.notice.isVisible()
    assert "9000" in page.notice.sentence


def test_a_worker_that_dies_leaves_the_text_and_a_button_to_run_again(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    page = open_app(replace(FAST, lost_after_rounds=30)).window.compare
    run(qtbot, page)
    assert page.plain.view.n_tokens > 5
    assert page.plain.state == "cut off"
    assert "signal 9" in page.notice.sentence
    (again,) = page.notice.buttons
    assert again.accessibleName() == "Run again"
    again.click()
    finish(qtbot, page)
    assert page.notice.isHidden()
    assert page.plain.view.toPlainText() == FAST.text


def test_a_bundle_that_cannot_be_loaded_again_is_said_in_words(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = open_app(replace(FAST, lost_after_rounds=20))
    opened.service.reload_failure = Failed(77, "FileGone", "The model's file is gone.", "Choose another one.")
    run(qtbot, opened.window.compare)
    qtbot.waitUntil(opened.window.notice.isVisible, timeout=5000)
    assert opened.window.notice.sentence == "The model's file is gone."
    assert opened.window.compare.loading.isHidden()


def test_loading_again_after_a_lost_process_can_be_cancelled(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = open_app(replace(FAST, lost_after_rounds=20, speed=2.0))
    page = opened.window.compare
    page.start()
    qtbot.waitUntil(lambda: any(name == "race" for name, _ in opened.service.calls), timeout=5000)
    opened.service.script = replace(opened.service.script, load_s=20.0)
    qtbot.waitUntil(page.loading.cancel.isVisible, timeout=10_000)
    page.loading.cancel.click()
    assert page.loading.isHidden()
    assert opened.window.notice.isHidden()
    (cancelled,) = (what for name, what in opened.service.calls if name == "cancel")
    assert cancelled not in (0, page.run.race and page.run.race.job)


def test_another_jobs_failure_is_not_taken_for_that_of_loading_again(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = open_app(FAST)
    run(qtbot, opened.window.compare)
    session = opened.window.compare.picker._session
    opened.service.tell(WorkerLost(0, "The model's process ended.", "", ""))
    opened.service.tell(Failed(99, "DecodeFailed", "Something else failed.", ""))
    qtbot.waitUntil(lambda: session.state.phase is ModelPhase.LOADING, timeout=5000)
    qtbot.wait(50)
    assert session.state.phase is ModelPhase.LOADING
    assert not session.can_cancel
    assert opened.window.notice.isHidden()


def test_a_worker_that_hangs_is_offered_for_ending(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = open_app(replace(FAST, silent_after_rounds=20))
    page = opened.window.compare
    page.start()
    qtbot.waitUntil(opened.window.silence.isVisible, timeout=10_000)
    (end,) = opened.window.silence.buttons
    assert end.accessibleName() == "End and restart"
    end.click()
    finish(qtbot, page)
    assert ("end_worker", None) in opened.service.calls
    assert page.plain.view.n_tokens > 2


def test_a_silent_worker_that_dies_by_itself_takes_the_offer_to_end_it_along(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    opened = open_app(replace(FAST, silent_after_rounds=20))
    silence, chat = opened.window.silence, opened.window.chat
    chat.composer.edit.setPlainText("Hello")
    chat.send()
    qtbot.waitUntil(lambda: not silence.isHidden(), timeout=10_000)
    opened.service.ended.set()
    qtbot.waitUntil(lambda: chat.run.phase == "idle", timeout=10_000)
    qtbot.waitUntil(silence.isHidden, timeout=5000)
    assert "signal 9" in chat.transcript.turns[0].notice.sentence


@pytest.mark.parametrize("prompt", ["", "   \n "])
def test_nothing_to_ask_is_said_before_anything_loads(qtbot: QtBot, open_app: OpenApp, prompt: str) -> None:
    opened = open_app(FAST)
    opened.window.compare.prompt.edit.setPlainText(prompt)
    opened.window.compare.start()
    assert "nothing to answer" in opened.window.compare.notice.sentence
    assert opened.service.calls == []


def test_without_any_model_the_page_says_how_to_get_one(qtbot: QtBot, open_app: OpenApp) -> None:
    page = open_app(FAST, ()).window.compare
    page.start()
    assert "No model is chosen" in page.notice.sentence


def test_the_options_reach_the_engine(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = open_app(FAST)
    page = opened.window.compare
    page.options.draft_length.set_value(7)
    page.options.temperature.setValue(0.8)
    page.options.max_tokens.setValue(33)
    page.options.seed.setText("99")
    run(qtbot, page)
    (race,) = (what for name, what in opened.service.calls if name == "race")
    assert isinstance(race, tuple)
    prompt, settings = race
    assert prompt.messages[0].text == page.prompt.text
    assert (settings.draft_length, settings.max_tokens) == (7, 33)
    assert (settings.sampling.temperature, settings.sampling.seed) == (0.8, 99)
    assert page.plain.state == "reached the length"


def test_the_result_is_copied_as_the_command_line_prints_it_and_as_a_table(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    page = open_app(FAST).window.compare
    run(qtbot, page)
    page.copy_result("json")
    card = json.loads(QApplication.clipboard().text())
    assert [lane["name"] for lane in card["lanes"]] == ["baseline", "speculative"]
    assert card["lanes"][1]["text"] == FAST.text
    page.copy_result("markdown")
    table = QApplication.clipboard().text()
    assert "× faster" in table
    assert "| Speed |" in table


def test_a_ready_prompt_keeps_the_text_of_ones_own(qtbot: QtBot, open_app: OpenApp) -> None:
    box = open_app(FAST).window.compare.prompt
    box.edit.setPlainText("my own words")
    chips = {chip.accessibleName(): chip for chip in box._group.buttons()}
    chips["Poem"].click()
    first = box.text
    assert "poem" in first
    chips["Poem"].click()
    assert box.text != first
    assert "poem" in box.text
    chips["Your text"].click()
    assert box.text == "my own words"


def test_answers_are_named_once_another_model_is_chosen(qtbot: QtBot, open_app: OpenApp) -> None:
    page = open_app(FAST).window.compare
    page.start()
    qtbot.waitUntil(lambda: page.run.race is not None and page.run.race.ended)
    assert "Starter" not in page.verdict.accessibleName()
    page._session.choose(BUNDLES[1])
    assert "Starter: SmolLM2 135M · " in page.verdict.accessibleName()
