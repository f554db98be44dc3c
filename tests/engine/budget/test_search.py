"""The largest setting that fits is found exactly, with few measurements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.budget.search import largest_context, largest_that_fits


@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=200), st.integers(-1000, 20_000), st.integers(-5, 5)
)
def test_whatever_the_steps_are_the_answer_is_the_largest(steps: list[int], room: int, low: int) -> None:
    def spare(n: int) -> int:
        return room - sum(steps[: n - low + 1])

    high = low + len(steps) - 1
    expected = max((n for n in range(low, high + 1) if spare(n) >= 0), default=low - 1)
    assert largest_that_fits(spare, low, high) == expected


@pytest.mark.parametrize("room", [0, 999, 123_456, 5_000_000, 10**9])
def test_a_straight_line_takes_four_measurements_at_most(room: int) -> None:
    asked: list[int] = []

    def spare(n: int) -> int:
        asked.append(n)
        return room - 100 - 37 * n

    found = largest_that_fits(spare, 1, 4096)
    assert found == max(0, min((room - 100) // 37, 4096))
    assert len(asked) <= 4
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize(
    ("limit", "fits_up_to", "largest"),
    [(40_000, 10_000, 9984), (40_000, 255, 0), (40_000, 40_000, 40_000), (100, 100, 100), (100, 99, 0)],
)
def test_the_largest_context_is_a_round_one_or_the_models_own(
    limit: int, fits_up_to: int, largest: int
) -> None:
    assert largest_context(lambda n_ctx: fits_up_to - n_ctx, limit) == largest
