"""Chatting: answers stream, nothing is lost, and each answer tells whether speculation worked."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.pages.chat import ChatPage
from app.pages.chat_run import ChatPhase
from app.truth import TruthLight, truth_light, truth_words
from engine.chat.messages import Role
from engine.measure.metrics import measure
from engine.speculation.round import FinishReason, Round
from engine.worker.messages import Failed
from tests.app.conftest import BUNDLES, OpenApp
from tests.app.scripted_service import Script

FAST = Script(speed=20.0)


def ask(qtbot: QtBot, page: ChatPage, text: str) -> None:
    """Send `text` and wait until the answer has ended."""
    page.composer.edit.setPlainText(text)
    page.send()
    finish(qtbot, page)


def finish(qtbot: QtBot, page: ChatPage) -> None:
    qtbot.waitUntil(lambda: page.run.phase is ChatPhase.IDLE, timeout=20_000)


def test_an_answer_streams_and_says_what_it_took(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = open_app(FAST)
    page = opened.window.chat
    opened.window.show_page(0)
    QTest.keyClicks(page.composer.edit, "Hello")
    QTest.keyClick(page.composer.edit, Qt.Key.Key_Return)
    finish(qtbot, page)
    (view,) = page.transcript.turns
    assert view.answer is not None
    assert view.answer.text == FAST.text
    assert "tok/s · " in view.facts
    assert "% accepted" in view.facts
    assert page.composer.text == ""
    assert "Drafting: " in opened.window.status.texts[-1]


def test_the_model_is_told_the_whole_conversation(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = open_app(replace(FAST, text="A short answer."))
    ask(qtbot, opened.window.chat, "One?")
    ask(qtbot, opened.window.chat, "Two?")
    said = [(message.role, message.text) for message in opened.service.prompts[-1].messages]
    assert said == [(Role.USER, "One?"), (Role.ASSISTANT, "A short answer."), (Role.USER, "Two?")]


def test_a_model_without_a_template_is_told_the_same_messages(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = open_app(replace(FAST, text="A short answer.", has_chat_template=False))
    ask(qtbot, opened.window.chat, "One?")
    ask(qtbot, opened.window.chat, "Two?")
    prompt = opened.service.prompts[-1]
    assert [message.text for message in prompt.messages] == ["One?", "A short answer.", "Two?"]
    assert prompt.raw == ""


def test_answering_again_keeps_the_earlier_answer(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = open_app(replace(FAST, text="The first answer."))
    page = opened.window.chat
    ask(qtbot, page, "Well?")
    opened.service.script = replace(FAST, text="The second answer.")
    page.regenerate()
    finish(qtbot, page)
    (view,) = page.transcript.turns
    assert [answer.text for answer in view.turn.answers] == ["The first answer.", "The second answer."]
    view._earlier.click()
    assert view.answer is not None
    assert view.answer.text == "The first answer."
    view.copy()
    assert QApplication.clipboard().text() == "The first answer."
    assert len(opened.service.prompts[-1].messages) == 1


def test_stop_keeps_what_has_come(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = open_app(replace(FAST, speed=2.0))
    page = opened.window.chat
    opened.window.show_page(0)
    page.composer.edit.setPlainText("Go")
    page.send()
    qtbot.waitUntil(lambda: page.run.phase is ChatPhase.ANSWERING, timeout=10_000)
    qtbot.wait(100)
    QTest.keyClick(page.composer.edit, Qt.Key.Key_Escape)
    finish(qtbot, page)
    (view,) = page.transcript.turns
    assert "stopped" in view.facts
    assert view.answer is not None
    assert FAST.text.startswith(view.answer.text)


def test_stop_reaches_the_answer_being_written_while_an_earlier_one_is_read(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    opened = open_app(replace(FAST, text="The first answer."))
    page = opened.window.chat
    ask(qtbot, page, "Well?")
    opened.service.script = replace(FAST, speed=1.0)
    page.regenerate()
    qtbot.waitUntil(lambda: page.run.phase is ChatPhase.ANSWERING, timeout=10_000)
    (view,) = page.transcript.turns
    view._earlier.click()
    page.stop()
    finish(qtbot, page)
    newest = view.turn.answers[-1]
    assert ("cancel", newest.job) in opened.service.calls
    assert page.current_answer is newest
    assert newest.lane.reason is FinishReason.CANCELLED


def test_a_question_whose_load_was_stopped_can_be_answered_again(qtbot: QtBot, open_app: OpenApp) -> None:
    page = open_app(replace(FAST, load_s=2.0)).window.chat
    page.composer.edit.setPlainText("Are you there?")
    page.send()
    page.stop()
    assert page.run.phase is ChatPhase.IDLE
    (view,) = page.transcript.turns
    assert view.waiting == ""
    (again,) = view.notice.buttons
    assert again.accessibleName() == "Answer again"
    again.click()
    finish(qtbot, page)
    assert view.answer is not None
    assert view.answer.text == FAST.text
    assert view.notice.isHidden()


def test_another_model_chosen_while_one_loads_is_the_one_that_answers(
    qtbot: QtBot, open_app: OpenApp
) -> None:
    opened = open_app(replace(FAST, load_s=6.0))
    page = opened.window.chat
    page.composer.edit.setPlainText("Who are you?")
    page.send()
    page.picker._session.choose(BUNDLES[1])
    finish(qtbot, page)
    loads = [what for name, what in opened.service.calls if name == "load"]
    assert [what[0] for what in loads if isinstance(what, tuple)] == list(BUNDLES)
    assert page.transcript.turns[0].turn.answers[0].text == FAST.text


def test_a_worker_that_dies_leaves_the_partial_answer_and_a_button(qtbot: QtBot, open_app: OpenApp) -> None:
    page = open_app(replace(FAST, lost_after_rounds=12)).window.chat
    ask(qtbot, page, "Tell me")
    (view,) = page.transcript.turns
    assert "signal 9" in view.notice.sentence
    assert view.answer is not None
    partial = view.answer.text
    assert partial
    view.notice.buttons[0].click()
    finish(qtbot, page)
    assert [answer.text for answer in view.turn.answers] == [partial, FAST.text]


def test_a_question_stays_when_the_model_does_not_load(qtbot: QtBot, open_app: OpenApp) -> None:
    failure = Failed(0, "FileGone", "The model's file is gone.", "Choose another one.")
    opened = open_app(replace(FAST, load_failure=failure))
    page = opened.window.chat
    ask(qtbot, page, "Are you there?")
    (view,) = page.transcript.turns
    assert view.turn.question == "Are you there?"
    assert view.notice.sentence == "The model's file is gone."
    opened.service.script = FAST
    view.notice.buttons[0].click()
    finish(qtbot, page)
    assert view.answer is not None
    assert view.answer.text == FAST.text


def test_speculation_off_is_asked_for_and_shown(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = open_app(FAST)
    page = opened.window.chat
    page.speculation.setChecked(False)
    ask(qtbot, page, "Hello")
    (call,) = (what for name, what in opened.service.calls if name == "generate")
    assert isinstance(call, tuple)
    assert call[2] is False
    assert "without speculation" in page.transcript.turns[0].facts
    assert opened.window.status.texts[-1] == "Speculation off"


def test_the_truth_light_believes_counted_tokens_only() -> None:
    idle = measure([Round((1,), ("a",), n_prompt=3, total_s=0.1), Round((2,), ("b",), total_s=0.1)])
    drafting = measure([Round((1,), ("a",), n_prompt=3, total_s=0.1), Round((2,), ("b",), drafted=(9,))])
    assert truth_light(drafting, speculative=False) is TruthLight.OFF
    assert truth_light(idle, speculative=True) is TruthLight.IDLE
    assert truth_light(drafting, speculative=True) is TruthLight.DRAFTING
    assert truth_words(idle, speculative=True) == "On, nothing drafted"


def test_a_new_chat_forgets_the_old_one_and_keeps_the_draft(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = open_app(FAST)
    page = opened.window.chat
    ask(qtbot, page, "Old question")
    page.composer.edit.setPlainText("half a thought")
    page.start_over()
    assert page.composer.text == "half a thought"
    assert page.transcript.turns == ()
    ask(qtbot, page, "New question")
    assert [message.text for message in opened.service.prompts[-1].messages] == ["New question"]


def test_copy_takes_the_last_answer(qtbot: QtBot, open_app: OpenApp) -> None:
    page = open_app(replace(FAST, text="**bold** words")).window.chat
    ask(qtbot, page, "Say it")
    page.copy_last()
    assert QApplication.clipboard().text() == "**bold** words"


def test_only_the_last_question_can_be_answered_again(qtbot: QtBot, open_app: OpenApp) -> None:
    opened = open_app(replace(FAST, text="Short."))
    opened.window.show_page(0)
    for question in ("One?", "Two?"):
        ask(qtbot, opened.window.chat, question)
    first, last = opened.window.chat.transcript.turns
    assert first._copy.isVisible()
    assert not first._again.isVisible()
    assert last._again.isVisible()
