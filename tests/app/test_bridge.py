"""Engine events become signals: in order, together, on the window's thread."""

from __future__ import annotations

import threading

from PySide6.QtCore import QThread
from pytestqt.qtbot import QtBot

from app.bridge import EngineBridge
from engine.speculation.round import Round
from engine.worker.messages import Finished, Pong, RoundDone, Started
from tests.app.scripted_service import ScriptedService


def test_events_arrive_in_order_on_the_windows_thread_and_rounds_travel_together(qtbot: QtBot) -> None:
    service = ScriptedService()
    bridge = EngineBridge(service)
    seen: list[object] = []
    threads: set[QThread] = set()

    def note(*what: object) -> None:
        seen.append(what)
        threads.add(QThread.currentThread())

    bridge.started.connect(lambda event: note("started", event.job))
    bridge.rounds_done.connect(lambda job, events: note("rounds", job, [e.round.tokens[0] for e in events]))
    bridge.finished.connect(lambda event: note("finished", event.job))
    bridge.start()

    def engine() -> None:
        service.tell(Started(5, 10, 0, 1))
        for i in range(400):
            service.tell(RoundDone(5, i % 2, Round(tokens=(i,), pieces=("x",))))
            service.tell(Pong(i, 0.0))
        service.tell(Finished(5))

    thread = threading.Thread(target=engine)
    with qtbot.waitSignal(bridge.finished, timeout=5000):
        thread.start()
    thread.join()
    assert seen[0] == ("started", 5)
    assert seen[-1] == ("finished", 5)
    batches = [what for what in seen if isinstance(what, tuple) and what[0] == "rounds"]
    assert [token for batch in batches for token in batch[2]] == list(range(400))
    assert len(batches) < 40
    assert threads == {bridge.thread()}


def test_no_event_is_left_behind_however_they_come(qtbot: QtBot) -> None:
    service = ScriptedService()
    bridge = EngineBridge(service)
    got: list[int] = []
    bridge.finished.connect(lambda event: got.append(event.job))
    bridge.start()
    for job in range(60):
        thread = threading.Thread(target=service.tell, args=(Finished(job),))
        thread.start()
        thread.join()
        if job % 7 == 0:
            qtbot.wait(1)
    qtbot.waitUntil(lambda: len(got) == 60, timeout=5000)
    assert got == list(range(60))
