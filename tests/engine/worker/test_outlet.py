from __future__ import annotations

from multiprocessing import Pipe

import pytest

from engine.speculation.round import Round
from engine.worker.messages import Event, Finished, RoundDone
from engine.worker.outlet import ROUNDS_EVERY_S, EventOutlet
from engine.worker.wire import decode_events


class Outlet:
    """An outlet with a clock that the test moves, and what came out of it."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self._reader, writer = Pipe(duplex=False)
        self.emit = EventOutlet(writer, lambda: self.now_s).emit

    def arrived(self) -> list[list[Event]]:
        frames = []
        while self._reader.poll():
            frames.append(list(decode_events(self._reader.recv_bytes())))
        return frames


def done(token: int) -> RoundDone:
    return RoundDone(1, 0, Round(tokens=(token,)))


def test_rounds_in_quick_succession_travel_together() -> None:
    outlet = Outlet()
    outlet.emit(done(1))
    outlet.emit(done(2))
    outlet.emit(done(3))
    assert outlet.arrived() == [[done(1)]]
    outlet.now_s += 2 * ROUNDS_EVERY_S
    outlet.emit(done(4))
    assert outlet.arrived() == [[done(2), done(3), done(4)]]


def test_slow_rounds_travel_at_once() -> None:
    outlet = Outlet()
    for token in range(3):
        outlet.now_s += 2 * ROUNDS_EVERY_S
        outlet.emit(done(token))
        assert outlet.arrived() == [[done(token)]]


def test_any_other_event_takes_the_waiting_rounds_along_in_order() -> None:
    outlet = Outlet()
    outlet.emit(done(1))
    outlet.emit(done(2))
    outlet.emit(Finished(1))
    assert outlet.arrived() == [[done(1)], [done(2), Finished(1)]]


def test_an_event_that_cannot_be_sent_is_told_to_who_emits_it_and_takes_no_other_along() -> None:
    outlet = Outlet()
    outlet.emit(done(1))
    outlet.emit(done(2))
    with pytest.raises(OverflowError):
        outlet.emit(done(2**65))
    outlet.emit(Finished(1))
    assert outlet.arrived() == [[done(1)], [done(2), Finished(1)]]
