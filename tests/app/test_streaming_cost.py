"""A long answer at a high speed never holds up the window."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import QObject, QTimer
from pytestqt.qtbot import QtBot

from app.bridge import MOST_PER_FRAME
from app.pages.chat_run import ChatPhase
from app.widgets.markdown_view import MarkdownView
from tests.app.conftest import OpenApp
from tests.app.scripted_service import ANSWER, Script, pieces_of

LONGEST_S = 0.05
FIVE_TIMES_AS_FAST = 10.0
"""The script gives about 100 tokens a second; ten times that is five times what is asked of the window."""
PARAGRAPH = "A paragraph without any end, " * 40
TEXT = (ANSWER + "```python\n" + "x = 1\n" * 30 + "```\n\n" + PARAGRAPH + "\n\n") * 13


class Heartbeat(QObject):
    """Notes how much processor time the window's thread spends between two beats of a timer.

    Handing over, folding, rendering, layout and painting are all in it, and what else runs on the machine is
    not.
    """

    def __init__(self) -> None:
        super().__init__()
        self.spent_s: list[float] = []
        self._before = time.thread_time()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._beat)
        self._timer.start(1)

    def _beat(self) -> None:
        now = time.thread_time()
        self.spent_s.append(now - self._before)
        self._before = now


def test_the_window_stays_quick_while_20_000_characters_stream(
    qtbot: QtBot, open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.pages.chat.MOST_TOKENS", 50_000)
    opened = open_app(Script(speed=FIVE_TIMES_AS_FAST, text=TEXT))
    page = opened.window.chat
    opened.window.resize(1280, 800)
    opened.window.show_page(0)
    page.composer.edit.setPlainText("Long, please")
    page.send()
    qtbot.waitUntil(lambda: page.run.phase is ChatPhase.ANSWERING, timeout=10_000)
    heart = Heartbeat()
    qtbot.waitUntil(lambda: page.run.phase is ChatPhase.IDLE, timeout=60_000)
    answer = page.current_answer
    assert answer is not None
    assert answer.text == TEXT
    assert len(heart.spent_s) > 50
    # Where other programs take the processor, Qt hands over several frames between two beats.
    assert sum(spent > LONGEST_S for spent in heart.spent_s) <= len(heart.spent_s) / 50


def test_a_burst_is_spread_over_frames(qtbot: QtBot, open_app: OpenApp) -> None:
    page = open_app(Script(speed=100_000.0, text=TEXT)).window.compare
    page.options.max_tokens.setValue(30_000)
    sizes: list[int] = []
    page.run.advanced.connect(lambda events: sizes.append(len(events)))
    page.start()
    qtbot.waitUntil(lambda: page.run.phase == "idle", timeout=60_000)
    assert max(sizes) <= MOST_PER_FRAME
    assert page.plain.view.toPlainText() == page.speculative.view.toPlainText() == TEXT


def test_20_000_characters_at_200_tokens_a_second_are_cheap(qtbot: QtBot) -> None:
    """The same, frame by frame: seven tokens every 33 ms, each frame rendered at once."""
    view = MarkdownView()
    qtbot.addWidget(view)
    view.resize(760, 400)
    view.show()
    pieces = pieces_of(TEXT)
    assert len(TEXT) > 20_000
    times = []
    for start in range(0, len(pieces), 7):
        begin = time.thread_time()
        view.append("".join(pieces[start : start + 7]))
        view._render()
        times.append(time.thread_time() - begin)
    assert max(times) < LONGEST_S
