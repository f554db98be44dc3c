"""The figures of a bench: pure functions of its records.

Speeds are medians over runs. Speed-ups are made task by task, against "off" of the same task, and combined as
geometric means: over the tasks of a category, then over the categories, each of which counts the same. An answer of
few tokens says more about chance than about speed: it counts for acceptance alone. Modes are compared over the same
texts: a task, or a category, that one of them has no speed of is left out of what is combined.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import zip_longest
from typing import Final

from engine.bench.plan import OFF
from engine.bench.results import BenchRunRecord, ModeFigures

OVERALL: Final = "overall"
LEAST_TOKENS: Final = 8


def category_figures(runs: Sequence[BenchRunRecord], modes: Sequence[str]) -> tuple[ModeFigures, ...]:
    """Return every category of `runs` in every mode of `modes` in which it was run."""
    figures = []
    for category in dict.fromkeys(run.category for run in runs):
        own = [run for run in runs if run.category == category]
        measured = [mode for mode in modes if any(run.mode == mode for run in own)]
        by_mode = {mode: task_speedups(own, mode) for mode in measured}
        tasks = _shared([speedups.keys() for speedups in by_mode.values()])
        figures += [
            _figures(
                own, category, mode, [speedup for task, speedup in by_mode[mode].items() if task in tasks]
            )
            for mode in measured
        ]
    return tuple(figures)


def overall_figures(
    figures: Sequence[ModeFigures], runs: Sequence[BenchRunRecord]
) -> tuple[ModeFigures, ...]:
    """Return one line per mode over all categories of `figures`, which were made of `runs`.

    `tokens_per_s` is the geometric mean of those of the categories, lowest and highest are theirs too. Categories in
    which one of the modes has no figure count for none of them.
    """
    modes = tuple(dict.fromkeys(one.mode for one in figures))
    own = {mode: [one for one in figures if one.mode == mode] for mode in modes}
    of_speed = [{one.category for one in own[mode] if one.tokens_per_s is not None} for mode in modes]
    of_speedup = [{one.category for one in own[mode] if one.speedup is not None} for mode in modes]
    categories, compared = _shared(of_speed), _shared(of_speedup)
    return tuple(
        _overall(
            mode,
            [one for one in own[mode] if one.category in categories],
            [one.speedup for one in own[mode] if one.speedup is not None and one.category in compared],
            [run for run in runs if run.mode == mode],
        )
        for mode in modes
    )


def _shared(found: Iterable[AbstractSet[str]]) -> AbstractSet[str]:
    """Return the names that all of `found` have; one that has none at all is not compared and takes nothing away."""
    some = [names for names in found if names]
    return frozenset.intersection(*map(frozenset, some)) if some else frozenset()


def task_speedups(runs: Sequence[BenchRunRecord], mode: str, baseline: str = OFF) -> dict[str, float]:
    """Return by task how many times as fast as `baseline` `mode` was; tasks that miss one of both are left out."""
    speeds = {task: _median_speed(runs, task, mode) for task in dict.fromkeys(run.task for run in runs)}
    base = {task: _median_speed(runs, task, baseline) for task in speeds}
    return {
        task: speed / slow
        for task, speed in speeds.items()
        if speed is not None and (slow := base[task]) is not None
    }


def end_to_end_speedup(runs: Sequence[BenchRunRecord], mode: str) -> float | None:
    """Return how many times as fast as "off" `mode` is from the prompt to the end of answers as long as those of "off".

    Geometric mean over tasks; a drafter that reads the prompt too counts against it. None where nothing is comparable.
    """
    ratios = []
    for task in dict.fromkeys(run.task for run in runs):
        plain = [run for run in runs if run.task == task and run.mode == OFF]
        drafted = [run for run in runs if run.task == task and run.mode == mode]
        plain_speed, speed = _median_speed(runs, task, OFF), _median_speed(runs, task, mode)
        if plain_speed is not None and speed is not None:
            n_after_first = statistics.median(run.n_tokens for run in plain) - 1
            plain_s = statistics.median(run.prefill_s for run in plain) + n_after_first / plain_speed
            ratios.append(
                plain_s / (statistics.median(run.prefill_s for run in drafted) + n_after_first / speed)
            )
    return _geometric_mean(ratios)


def prefill_share(runs: Iterable[BenchRunRecord]) -> float | None:
    """Return the median share of the time to the end that reading the prompt took; None without runs."""
    shares = [run.prefill_s / run.end_to_end_s for run in runs if run.end_to_end_s > 0]
    return statistics.median(shares) if shares else None


def _figures(
    runs: Sequence[BenchRunRecord], category: str, mode: str, speedups: Sequence[float]
) -> ModeFigures:
    mine = [run for run in runs if run.mode == mode]
    speeds = _speeds(mine)
    return ModeFigures(
        category=category,
        mode=mode,
        n_runs=len(mine),
        tokens_per_s=statistics.median(speeds) if speeds else None,
        tokens_per_s_lowest=min(speeds, default=None),
        tokens_per_s_highest=max(speeds, default=None),
        speedup=_geometric_mean(speedups),
        acceptance_rate=_acceptance_rate(mine),
        mean_accepted_length=_mean_accepted_length(mine),
        acceptance_by_position=_acceptance_by_position(mine),
    )


def _overall(
    mode: str, figures: Sequence[ModeFigures], speedups: Sequence[float], runs: Sequence[BenchRunRecord]
) -> ModeFigures:
    speeds = [one.tokens_per_s for one in figures if one.tokens_per_s is not None]
    return ModeFigures(
        category=OVERALL,
        mode=mode,
        n_runs=len(runs),
        tokens_per_s=_geometric_mean(speeds),
        tokens_per_s_lowest=min(speeds, default=None),
        tokens_per_s_highest=max(speeds, default=None),
        speedup=_geometric_mean(speedups),
        acceptance_rate=_acceptance_rate(runs),
        mean_accepted_length=_mean_accepted_length(runs),
        acceptance_by_position=_acceptance_by_position(runs),
    )


def _median_speed(runs: Sequence[BenchRunRecord], task: str, mode: str) -> float | None:
    speeds = _speeds([run for run in runs if run.task == task and run.mode == mode])
    return statistics.median(speeds) if speeds else None


def _speeds(runs: Sequence[BenchRunRecord]) -> list[float]:
    return [run.tokens_per_s for run in runs if run.tokens_per_s and run.n_tokens >= LEAST_TOKENS]


def _geometric_mean(values: Sequence[float]) -> float | None:
    positive = [value for value in values if value > 0]
    return statistics.geometric_mean(positive) if positive else None


def _acceptance_rate(runs: Sequence[BenchRunRecord]) -> float | None:
    drafted = sum(sum(run.drafted_by_position) for run in runs)
    return sum(sum(run.accepted_by_position) for run in runs) / drafted if drafted else None


def _mean_accepted_length(runs: Sequence[BenchRunRecord]) -> float | None:
    rounds = sum(run.rounds for run in runs)
    return 1.0 + sum(sum(run.accepted_by_position) for run in runs) / rounds if rounds else None


def _acceptance_by_position(runs: Sequence[BenchRunRecord]) -> tuple[float, ...]:
    drafted = [sum(counts) for counts in zip_longest(*(run.drafted_by_position for run in runs), fillvalue=0)]
    accepted = [
        sum(counts) for counts in zip_longest(*(run.accepted_by_position for run in runs), fillvalue=0)
    ]
    return tuple(good / all_ for good, all_ in zip(accepted, drafted, strict=False) if all_)
