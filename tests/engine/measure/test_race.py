from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.measure.race import race
from engine.speculation.round import Round


def lane(*seconds: float) -> Iterator[Round]:
    yield from (Round(tokens=(i,), total_s=total_s) for i, total_s in enumerate(seconds))


def order(*lanes: Iterator[Round]) -> list[int]:
    return [which for which, _ in race(lanes)]


def test_lane_whose_clock_is_behind_is_stepped() -> None:
    assert order(lane(1, 1, 1, 1, 1, 1), lane(2.5, 2.5)) == [0, 1, 0, 0, 1, 0, 0, 0]


def test_of_equal_clocks_the_first_lane_is_stepped() -> None:
    assert order(lane(1, 1), lane(1, 1)) == [0, 1, 0, 1]


def test_lane_that_has_finished_leaves_the_machine_to_the_other() -> None:
    assert order(lane(1), lane(1, 1, 1)) == [0, 1, 1, 1]


def test_lanes_get_back_their_own_rounds_in_order() -> None:
    rounds = list(race([lane(3, 1), lane(1, 1, 1)]))
    assert [done.tokens for which, done in rounds if which == 0] == [(0,), (1,)]
    assert [done.tokens for which, done in rounds if which == 1] == [(0,), (1,), (2,)]


def test_only_one_lane_runs_at_a_time() -> None:
    running: list[int] = []

    def watched(which: int) -> Iterator[Round]:
        for _ in range(5):
            running.append(which)
            assert running == [which]
            running.pop()
            yield Round(total_s=1.0)

    assert order(watched(0), watched(1)) == [0, 1] * 5


def test_any_number_of_lanes() -> None:
    assert order() == []
    assert order(lane(1, 1)) == [0, 0]
    assert order(lane(3), lane(2, 2), lane(1, 1, 1)) == [0, 1, 2, 2, 1, 2]


def closing(closed: list[int], which: int) -> Iterator[Round]:
    try:
        while True:
            yield Round(total_s=1.0)
    finally:
        closed.append(which)


def test_closing_the_race_closes_the_lanes() -> None:
    closed: list[int] = []
    running = race([closing(closed, 0), closing(closed, 1)])
    [next(running) for _ in range(3)]
    running.close()  # type: ignore[attr-defined]
    assert closed == [0, 1]


def test_lane_that_raises_ends_the_race_and_closes_the_other() -> None:
    closed: list[int] = []

    def failing() -> Iterator[Round]:
        yield Round(total_s=1.0)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        list(race([closing(closed, 0), failing()]))
    assert closed == [0]
