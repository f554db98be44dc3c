from __future__ import annotations

import pytest

from engine.bench.proposal import best_sentence
from engine.bench.results import BenchResult
from tests.engine.bench.records import record
from tests.engine.bench.results import result_of

CODE, POEM = "coding", "creative"


def measured(speedups: dict[str, tuple[float, float]], *, is_complete: bool = True) -> BenchResult:
    """Return a result in which coding and creative text were so many times as fast as off, by mode."""
    runs = [record(f"{kind}-1", "off", 10.0) for kind in (CODE, POEM)]
    for mode, (code, poem) in speedups.items():
        runs += [record(f"{CODE}-1", mode, 10.0 * code), record(f"{POEM}-1", mode, 10.0 * poem)]
    return result_of(runs, is_complete=is_complete)


@pytest.mark.parametrize(
    ("speedups", "said"),
    [
        ({"auto": (1.5, 1.5), "4": (1.3, 1.3)}, "draft length auto, +50% at temperature 0."),
        ({"auto": (1.3, 1.3), "4": (1.5, 1.5)}, "draft length 4, +50% at temperature 0."),
        ({"auto": (1.5, 1.5), "4": (1.53, 1.53)}, "draft length auto, +50% at temperature 0."),
        (
            {"4": (1.01, 1.01)},
            "without guessing ahead. Nothing is gained by guessing ahead here.",
        ),
        (
            {"auto": (0.98, 0.98), "4": (1.01, 1.01)},
            "draft length auto, about as fast as without. Nothing is gained by guessing ahead here.",
        ),
        (
            {"auto": (0.9, 0.9), "4": (0.8, 0.5)},
            "without guessing ahead. With this pair guessing ahead only costs time here.",
        ),
        (
            {"4": (1.5, 0.6)},
            "without guessing ahead. Over all kinds of text nothing is gained; in coding, draft length 4 is 1.50 times "
            "as fast.",
        ),
    ],
)
def test_a_mode_is_proposed_for_what_is_more_than_chance(
    speedups: dict[str, tuple[float, float]], said: str
) -> None:
    assert best_sentence(measured(speedups)) == f"Best for you: {said}"


def test_what_was_broken_off_or_not_compared_is_said_so() -> None:
    partial = measured({"auto": (1.5, 1.5)}, is_complete=False)
    assert best_sentence(partial) == "Best so far: draft length auto, +50% at temperature 0."
    assert best_sentence(result_of([record("coding-1", "3", 10.0)])) == ""
