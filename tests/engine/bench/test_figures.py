from __future__ import annotations

import pytest

from engine.bench.figures import (
    LEAST_TOKENS,
    OVERALL,
    category_figures,
    overall_figures,
    prefill_share,
    task_speedups,
)
from tests.engine.bench.records import record

RUNS = (
    record("code-1", "off", 10.0),
    record("code-1", "off", 30.0, repeat=1),
    record("code-1", "off", 11.0, repeat=2),
    record("code-1", "3", 22.0, drafted=(10, 10, 5), accepted=(8, 4, 1)),
    record("code-2", "off", 20.0),
    record("code-2", "3", 160.0, drafted=(10,), accepted=(10,)),
    record("poem-1", "off", 10.0),
    record("poem-1", "3", 5.0, drafted=(8, 2), accepted=(2, 0)),
)


def test_speeds_are_medians_with_lowest_and_highest() -> None:
    code_off, code_3, *_ = category_figures(RUNS, ("off", "3"))
    assert (code_off.category, code_off.mode, code_off.n_runs) == ("code", "off", 4)
    assert code_off.is_baseline
    assert (code_off.tokens_per_s_lowest, code_off.tokens_per_s, code_off.tokens_per_s_highest) == (
        10,
        15.5,
        30,
    )
    assert code_off.speedup == 1.0
    assert code_off.acceptance_rate is None
    assert code_3.tokens_per_s == 91


def test_speedups_are_geometric_means_of_tasks_against_the_same_task() -> None:
    assert task_speedups(RUNS, "3") == {"code-1": 2.0, "code-2": 8.0, "poem-1": 0.5}
    by_name = {(one.category, one.mode): one for one in category_figures(RUNS, ("off", "3"))}
    assert by_name["code", "3"].speedup == pytest.approx(4.0)
    assert by_name["poem", "3"].speedup == pytest.approx(0.5)


def test_every_category_counts_the_same_in_the_overall_figures() -> None:
    off, three = overall_figures(category_figures(RUNS, ("off", "3")), RUNS)
    assert (off.category, off.mode, off.speedup) == (OVERALL, "off", 1.0)
    assert three.speedup == pytest.approx((4.0 * 0.5) ** 0.5)
    assert (three.tokens_per_s_lowest, three.tokens_per_s_highest) == (5.0, 91.0)
    assert three.n_runs == 3


def test_acceptance_is_of_all_drafted_tokens_and_of_each_position() -> None:
    code = next(one for one in category_figures(RUNS, ("3",)) if one.category == "code")
    assert code.acceptance_rate == pytest.approx(23 / 35)
    assert code.acceptance_by_position == pytest.approx((18 / 20, 4 / 10, 1 / 5))
    rounds = 2 * 63 - 13 - 10
    assert code.mean_accepted_length == pytest.approx(1 + 23 / rounds)


def test_answers_of_few_tokens_count_for_acceptance_alone() -> None:
    runs = (
        *RUNS,
        record("code-3", "off", 1.0, n_tokens=LEAST_TOKENS - 1),
        record("code-3", "3", 900.0, n_tokens=LEAST_TOKENS - 1, drafted=(4,), accepted=(4,)),
        record("code-4", "3", None, n_tokens=1),
    )
    by_name = {(one.category, one.mode): one for one in category_figures(runs, ("off", "3"))}
    assert by_name["code", "3"].speedup == pytest.approx(4.0)
    assert by_name["code", "3"].tokens_per_s_highest == 160.0
    assert by_name["code", "3"].acceptance_rate == pytest.approx(27 / 39)


def test_without_a_baseline_there_are_speeds_but_no_speedups() -> None:
    figures = category_figures([run for run in RUNS if run.mode != "off"], ("off", "3"))
    assert [(one.category, one.speedup) for one in figures] == [("code", None), ("poem", None)]
    assert [one.speedup for one in overall_figures(figures, RUNS)] == [None]
    assert category_figures((), ("off",)) == ()


def test_a_task_that_one_mode_has_no_speed_of_is_compared_in_none() -> None:
    runs = (
        record("code-1", "off", 10.0),
        record("code-1", "3", 20.0),
        record("code-1", "8", 30.0),
        record("code-2", "off", 10.0),
        record("code-2", "3", 80.0),
        record("code-2", "8", 90.0, n_tokens=LEAST_TOKENS - 1),
    )
    figures = category_figures(runs, ("off", "3", "8"))
    assert [one.speedup for one in figures] == pytest.approx([1.0, 2.0, 3.0])


def test_a_category_that_one_mode_has_no_figure_of_is_in_no_overall_figure() -> None:
    runs = (*RUNS, record("code-1", "8", 30.0), record("poem-1", "8", None, n_tokens=1))
    by_mode = {one.mode: one for one in overall_figures(category_figures(runs, ("off", "3", "8")), runs)}
    assert by_mode["3"].speedup == pytest.approx(2.0)
    assert by_mode["8"].speedup == pytest.approx(30 / 11)
    assert by_mode["3"].tokens_per_s_lowest == by_mode["3"].tokens_per_s_highest == 91.0


def test_the_prefill_share_is_the_median_of_runs() -> None:
    runs = [record("a", "off", 63.0, prefill_s=share) for share in (1.0, 3.0, 1 / 3)]
    assert prefill_share(runs) == pytest.approx(0.5)
    assert prefill_share([]) is None
