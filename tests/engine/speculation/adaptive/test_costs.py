from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest

from engine.speculation.adaptive.costs import Costs, bucket_of
from engine.speculation.adaptive.pass_costs import MAX_WIDTH, CostTable
from engine.speculation.adaptive.record import BucketRecord, DraftCostRecord, WidthRecord
from engine.speculation.round import DraftSource

MODEL, BLOCK = DraftSource.DRAFT_MODEL, DraftSource.DFLASH


def measured(*passes: tuple[int, float], n: int = 5) -> Costs:
    """Return what is known after passes of (width, seconds), each `n` times in turn."""
    costs = Costs()
    for _ in range(n):
        for width, seconds in passes:
            costs.add_pass(width, 10, seconds)
    return costs


def table_of(costs: Costs, n_cached: int = 10) -> CostTable:
    table = costs.table(n_cached)
    assert table is not None
    return table


def test_nothing_is_known_before_anything_was_measured() -> None:
    assert Costs().table(10) is None
    assert Costs().drafts(10, MODEL) is None


def test_costs_are_in_single_passes() -> None:
    table = table_of(measured((1, 0.2), (4, 0.5)))
    assert table.single_s == pytest.approx(0.2)
    assert table.passes[4] == pytest.approx(2.5)


def test_a_width_that_was_not_seen_lies_between_its_neighbours() -> None:
    table = table_of(measured((1, 0.1), (3, 0.14), (7, 0.22)))
    assert table.passes[2] == pytest.approx(1.2)
    assert table.passes[5] == pytest.approx(1.8)


def test_beyond_the_widest_a_cost_goes_on_rising() -> None:
    table = table_of(measured((1, 0.1), (3, 0.2)))
    assert table.passes[3] < table.passes[4] < table.passes[MAX_WIDTH]
    assert table.hopeful[MAX_WIDTH] < table.passes[MAX_WIDTH]


def test_cost_never_falls_with_width() -> None:
    table = table_of(measured((1, 0.1), (2, 0.16), (3, 0.12), (4, 0.2)))
    assert all(left <= right for left, right in zip(table.passes[1:], table.passes[2:], strict=False))
    assert table.passes[2] == table.passes[3] == pytest.approx(1.4)


def test_a_step_between_kernels_is_kept() -> None:
    table = table_of(measured((1, 0.1), (2, 0.11), (3, 0.12), (4, 0.22), (5, 0.23)))
    assert table.passes[3] == pytest.approx(1.2)
    assert table.passes[4] == pytest.approx(2.2)


def test_a_disturbed_pass_does_not_count() -> None:
    costs = measured((1, 0.1), (4, 0.13), n=6)
    costs.add_pass(4, 10, 1.5)
    costs.add_pass(1, 10, 0.9)
    assert table_of(costs).passes[4] == pytest.approx(1.3, rel=0.03)


def test_a_slow_spell_changes_no_ratio_though_only_one_width_is_used() -> None:
    costs = measured((1, 0.1), (4, 0.13), n=11)
    for _ in range(30):
        costs.add_pass(4, 10, 0.26)
    assert costs.pace > 1.4
    assert table_of(costs).passes[4] == pytest.approx(1.3, rel=0.15)


def test_single_passes_are_measured_again_now_and_then() -> None:
    costs = measured((1, 0.1), n=11)
    assert not costs.lacks_single(10)
    for _ in range(64):
        costs.add_pass(4, 10, 0.13)
    assert costs.lacks_single(10)
    costs.add_pass(1, 10, 0.1)
    assert not costs.lacks_single(10)


def test_a_single_pass_that_took_longer_than_a_wider_one_is_measured_again() -> None:
    assert measured((1, 0.3), (3, 0.12), n=4).lacks_single(10)


def test_a_longer_context_begins_with_what_the_shorter_taught() -> None:
    costs = measured((1, 0.1), (4, 0.2))
    assert bucket_of(10) != bucket_of(5000)
    assert table_of(costs, 5000).passes[4] == pytest.approx(2.0)
    for _ in range(40):
        costs.add_pass(1, 5000, 0.2)
        costs.add_pass(4, 5000, 0.8)
    assert table_of(costs, 5000).passes[4] == pytest.approx(4.0, rel=0.1)
    assert table_of(costs, 10).passes[4] == pytest.approx(2.0)


def test_a_draft_is_a_fixed_cost_and_steps() -> None:
    costs, rng = Costs(), np.random.default_rng(0)
    for n_steps in [1, 2, 3, 8, 5, 4, 2, 6] * 6:
        costs.add_draft(MODEL, 10, n_steps, 0, (0.01 + 0.02 * n_steps) * math.exp(rng.normal(0.0, 0.05)))
    drafts = costs.drafts(10, MODEL)
    assert drafts is not None
    assert drafts.step_s == pytest.approx(0.02, rel=0.1)
    assert drafts.fixed_s == pytest.approx(0.01, rel=0.4)


def test_a_block_costs_the_same_whatever_its_length() -> None:
    costs = Costs()
    for n_steps in [4, 8, 6, 16, 10] * 4:
        costs.add_draft(BLOCK, 10, n_steps, 0, 0.03)
    drafts = costs.drafts(10, BLOCK)
    assert drafts is not None
    assert drafts.step_s == pytest.approx(0.0, abs=1e-4)
    assert drafts.seconds(16) == pytest.approx(0.03, rel=0.05)


def test_catching_up_is_not_taken_for_the_cost_of_a_step() -> None:
    costs = Costs()
    costs.add_draft(MODEL, 10, 2, 100, 0.02 * 2 + 0.005 * 100)
    for n_missed in [0, 0, 40, 0, 0, 40] * 5:
        costs.add_draft(MODEL, 10, 2, n_missed, 0.02 * 2 + 0.005 * n_missed)
    drafts = costs.drafts(10, MODEL)
    assert drafts is not None
    assert drafts.seconds(2) == pytest.approx(0.04, rel=0.25)
    assert drafts.missed_s == pytest.approx(0.005, rel=0.25)


def test_what_is_remembered_is_known_again() -> None:
    costs = measured((1, 0.1), (4, 0.25), n=20)
    for n_steps in (1, 2, 4) * 5:
        costs.add_draft(MODEL, 10, n_steps, 0, 0.02 * n_steps)
    again = Costs.remembered(costs.records())
    assert table_of(again).passes[4] == pytest.approx(2.5)
    drafts = again.drafts(10, MODEL)
    assert drafts is not None
    assert drafts.seconds(3) == pytest.approx(0.06, rel=0.1)


def test_what_cannot_be_true_is_left_out() -> None:
    nonsense = BucketRecord(
        0,
        (
            WidthRecord(0, 0.1, 5),
            WidthRecord(99, 0.1, 5),
            WidthRecord(1, -1.0, 5),
            WidthRecord(2, math.nan, 5),
        ),
        {"telepathy": DraftCostRecord(0.0, 0.0, 0.0, 1), "mtp": DraftCostRecord(math.inf, 0.1, 0.0, 1)},
    )
    costs = Costs.remembered((nonsense, BucketRecord(-3), BucketRecord(10**9)))
    assert costs.table(10) is None
    assert costs.drafts(10, DraftSource.MTP) is None


def test_a_clock_that_stood_still_teaches_nothing() -> None:
    costs = measured((1, 0.1))
    costs.add_pass(1, 10, 0.0)
    costs.add_pass(1, 10, -1.0)
    costs.add_pass(40, 10, 0.1)
    assert table_of(costs).single_s == pytest.approx(0.1)


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("noise", ["even", "lopsided", "phases"])
def test_thousands_of_noisy_passes_of_one_width_leave_ratios_as_they_were_measured(
    width: int, noise: str
) -> None:
    """The cost of a pass and the computer's pace both follow what is measured: they must not drift apart together."""
    random = Random(1)

    def disturbed(i: int) -> float:
        usual = random.lognormvariate(0.0, 0.3)
        if noise == "lopsided" and random.random() < 0.1:
            return 10.0 * usual
        return 3.0 * usual if noise == "phases" and i // 150 % 3 == 1 else usual

    costs = measured((1, 0.001), (4, 0.002), n=8)
    for i in range(5000):
        n_pass = width if i % 64 else 1
        costs.add_pass(n_pass, 10, (0.002 if n_pass == 4 else 0.001) * disturbed(i))
        if i % 500 == 499:
            assert 1.5 < table_of(costs).passes[4] < 2.7


def test_a_pass_costs_no_more_than_a_single_one_for_each_token() -> None:
    costs = measured((1, 0.001), n=6)
    costs.add_pass(2, 10, 0.5)
    assert table_of(costs).passes[2] <= 2.0
