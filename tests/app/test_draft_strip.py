"""How far an answer was drafted, pass by pass, by whom, and why not at all."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QPoint
from pytestqt.qtbot import QtBot

from app.draft_trace import DraftTrace, shown, step_words, steps_of
from app.widgets.draft_strip import DraftStrip
from engine.measure.explain import explain
from engine.speculation.round import DraftSource, Round
from tests.app.conftest import OpenApp
from tests.app.scripted_service import SKIP, Script

PROMPT = Round((1,), ("a",), n_prompt=40)
ROUNDS = (
    PROMPT,
    Round((2, 3), ("b", "c"), (2, 9, 9), 1, DraftSource.DRAFT_MODEL),
    Round((4,), ("d",), (9, 9), 0, DraftSource.DRAFT_MODEL),
    Round((5, 6), ("e", "f"), (5,), 1, DraftSource.NGRAM),
    Round((7,), ("g",), skip=SKIP),
    Round((8,), ("h",)),
)


def test_the_passes_of_the_prompt_are_left_out_and_the_most_diligent_is_named_first() -> None:
    trace = DraftTrace().plus(ROUNDS[:3]).plus(ROUNDS[3:])
    assert trace.steps == steps_of(ROUNDS)
    assert [(step.drafted, step.accepted) for step in trace.steps] == [(3, 1), (2, 0), (1, 1), (0, 0), (0, 0)]
    assert trace.sources == (DraftSource.DRAFT_MODEL, DraftSource.NGRAM)
    assert trace.summary == "draft model 2 of 5, n-gram 1 of 5, nobody 2 of 5"
    assert DraftTrace().summary == ""


def test_each_bar_says_what_it_stands_for() -> None:
    said = [step_words(i, step) for i, step in enumerate(steps_of(ROUNDS))]
    assert said == [
        "Pass 1: 1 of 3 guesses right, by draft model",
        "Pass 2: 0 of 2 guesses right, by draft model",
        "Pass 3: 1 of 1 guess right, by n-gram",
        "Pass 4: nothing guessed, a guess would not have paid",
        "Pass 5: nothing guessed, nobody had a guess",
    ]


def test_where_there_is_no_room_for_all_the_latest_are_shown() -> None:
    steps = steps_of(ROUNDS)
    assert shown(steps, 2) == (3, steps[3:])
    assert shown(steps, 99) == (0, steps)
    assert shown((), 0) == (0, ())


def test_the_strip_tells_all_of_it_in_words(qtbot: QtBot) -> None:
    strip = DraftStrip()
    qtbot.addWidget(strip)
    strip.resize(600, 80)
    strip.show()
    strip.add(ROUNDS, "A sentence.")
    assert strip.title == "Guessed ahead, pass by pass · draft model 2 of 5, n-gram 1 of 5, nobody 2 of 5"
    assert strip.bars.accessibleName().endswith("nobody 2 of 5. A sentence.")
    assert strip.bars.words_at(QPoint(1, 5)).startswith("Pass 1: 1 of 3 guesses right")
    assert strip.bars.words_at(QPoint(strip.bars.width() - 1, 5)).startswith("One bar for each pass")
    strip.grab()
    strip.start_over()
    assert strip.title == "Guessed ahead, pass by pass"
    assert strip.sentence == ""


def test_a_comparison_shows_the_lengths_and_why_nothing_was_drafted(qtbot: QtBot, open_app: OpenApp) -> None:
    never = ((DraftSource.DRAFT_MODEL, 2), *((DraftSource.NONE, 0),) * 5)
    page = open_app(Script(speed=40.0, controller=never, accept=(0,))).window.compare
    page.start()
    qtbot.waitUntil(lambda: page.run.phase == "idle", timeout=20_000)
    assert page.run.race is not None
    rounds = page.run.race.speculative.rounds
    assert page.drafting.trace.steps == steps_of(rounds)
    assert page.drafting.sentence == explain(rounds)
    assert "would need 90 % acceptance, it has 41 %" in page.drafting.sentence
    page.run.race = None
    page.start()
    assert page.drafting.trace.steps == ()


def test_a_fixed_length_is_shown_as_fixed(qtbot: QtBot, open_app: OpenApp) -> None:
    page = open_app(replace(Script(speed=40.0), accept=(1,))).window.compare
    page.options.draft_length.set_value(5)
    page.start()
    qtbot.waitUntil(lambda: page.run.phase == "idle", timeout=20_000)
    assert {step.drafted for step in page.drafting.trace.steps} == {5}
    assert page.drafting.sentence.startswith("Drafted 5 tokens")


def test_the_truth_light_of_a_chat_tells_why_nothing_was_drafted(qtbot: QtBot, open_app: OpenApp) -> None:
    script = Script(text="One two three four five six.", speed=40.0, controller=((DraftSource.NONE, 0),))
    window = open_app(script).window
    window.show_page(0)
    window.chat.composer.edit.setPlainText("Hello")
    window.chat.send()
    qtbot.waitUntil(lambda: window.chat.run.phase == "idle", timeout=20_000)
    assert "On, nothing drafted" in window.status.texts
    assert "would need 90 % acceptance, it has 41 %" in window.status.details["Speculation"]
