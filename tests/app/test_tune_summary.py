"""What a bench says, as words, rows, lines and places."""

from __future__ import annotations

import msgspec
import pytest

from app.tune.chart_data import lines_of, scale_of, spread_apart
from app.tune.plan import TuneSettings, make_plan
from app.tune.summary import (
    ALL_KINDS,
    Figure,
    best_mode_of,
    cell_tip,
    cell_words,
    headline,
    kinds_of,
    modes_of,
    rows_of,
)
from app.tune.words import applied_words, circumstances, progress_words
from engine.bench.plan import AUTO, OFF
from engine.bench.results import BenchResult, ModeFigures
from engine.models.bundle import Bundle
from engine.speculation.settings import SamplingSettings
from tests.app.scripted_bench import KINDS, TASKS, ScriptedProgress, result_of

BUNDLE = Bundle("Qwen 1.5B", "/models/qwen.gguf")
RESULT = result_of(BUNDLE)


def with_overall(**speedups: float | None) -> BenchResult:
    """Return a result whose overall speed-ups are these; "_4" is the draft length 4."""
    overall = tuple(
        ModeFigures("overall", name.strip("_"), 4, 20.0, 19.0, 21.0, speedup, 0.5, 2.0)
        for name, speedup in speedups.items()
    )
    return msgspec.structs.replace(RESULT, overall=overall)


@pytest.mark.parametrize(
    ("speedups", "said"),
    [
        ({"off": 1.0, "_4": 1.38, "auto": 1.2}, "Best for you: draft length 4, +38% at temperature 0."),
        ({"off": 1.0, "_4": 1.38, "auto": 1.36}, "Best for you: draft length auto, +36% at temperature 0."),
        ({"off": 1.0}, "Too little was measured to compare."),
        ({"off": None, "auto": None}, "Too little was measured to compare."),
        ({}, "Too little was measured to compare."),
    ],
)
def test_the_headline_proposes_what_to_take(speedups: dict[str, float | None], said: str) -> None:
    assert headline(with_overall(**speedups)) == said


def test_while_it_runs_the_headline_speaks_of_so_far() -> None:
    running = msgspec.structs.replace(with_overall(off=1.0, auto=1.5), is_complete=False)
    assert headline(running).startswith("Best so far: draft length auto")
    assert headline(msgspec.structs.replace(running, overall=())) == "Nothing to compare yet."


def test_modes_stand_in_order_and_every_kind_has_a_row_below_all_of_them() -> None:
    assert modes_of(RESULT) == (OFF, "1", "2", "4", "8", AUTO)
    assert kinds_of(RESULT) == KINDS
    names = [name for name, _ in rows_of(RESULT)]
    assert names == [ALL_KINDS, *(kind.capitalize() for kind in KINDS)]


def test_a_kind_that_was_not_measured_in_a_mode_has_a_dash_there() -> None:
    figures = tuple(one for one in RESULT.figures if (one.category, one.mode) != ("coding", "4"))
    name, row = rows_of(msgspec.structs.replace(RESULT, figures=figures))[1]
    assert (name, row[3]) == ("Coding", None)
    assert {cell_words(row[3], figure) for figure in Figure} == {"–"}
    assert cell_tip(name, row[3]) == "Coding: not measured."


def test_a_cell_has_its_unit_and_its_tooltip_has_everything() -> None:
    one = ModeFigures("coding", "2", 3, 41.04, 39.0, 42.0, 1.62, 0.78, 2.4, (0.85, 0.7))
    shown = [cell_words(one, figure) for figure in Figure]
    assert shown == ["1.62×", "41.0 tok/s", "78 %", "2.40"]
    tip = cell_tip("Coding", one)
    assert "41.0 tok/s, from 39.0 tok/s to 42.0 tok/s, in 3 answers" in tip
    over_all = cell_tip(ALL_KINDS, msgspec.structs.replace(one, category="overall"))
    assert "41.0 tok/s, the geometric mean of kinds that go from 39.0 tok/s to 42.0 tok/s" in over_all
    assert "By position: 85 %, 70 %" in tip


def test_a_row_that_only_lost_has_off_as_its_best() -> None:
    slow = [
        ModeFigures("creative", mode, 1, 1.0, 1.0, 1.0, s, None, 1.0) for mode, s in ((OFF, 1.0), ("8", 0.6))
    ]
    best = best_mode_of(slow)
    assert best is not None
    assert best.is_baseline


def test_the_plan_takes_so_many_prompts_of_each_kind_and_always_measures_off() -> None:
    plan = make_plan(TASKS, TuneSettings(without=("creative",), modes=("4",), n_tasks=2, repeat=3))
    assert plan.modes == (OFF, "4")
    assert len(plan.tasks) == 2 * (len(KINDS) - 1)
    assert plan.n_runs == 2 * (len(KINDS) - 1) * 2 * 3
    assert make_plan(TASKS, TuneSettings(temperature=0.7)).sampling == SamplingSettings(temperature=0.7)
    assert make_plan(TASKS, TuneSettings(modes=("hostile", "-1"))).modes == (OFF,)


def test_a_line_of_one_point_is_no_line() -> None:
    figures = tuple(one for one in RESULT.figures if one.category != "maths" or one.mode == OFF)
    names = [line.name for line in lines_of(msgspec.structs.replace(RESULT, figures=figures))]
    assert "Maths" not in names
    assert names[0] == ALL_KINDS
    assert lines_of(None) == ()


def test_a_line_is_told_in_words() -> None:
    assert lines_of(RESULT)[1].words.startswith("Coding: Off 1.00×, 1 1.53×, 2 1.81×")


def test_the_plane_holds_every_point_and_auto_stands_apart() -> None:
    lines = lines_of(RESULT)
    scale = scale_of(lines)
    assert all(0.0 <= scale.y_of(point.speedup) <= 1.0 for line in lines for point in line.points)
    assert scale.ticks[0] == scale.bottom
    assert scale.ticks[-1] == scale.top
    assert 1.0 in scale.ticks
    assert scale.x_of(OFF) == 0.0
    assert scale.x_of(AUTO) == 1.0
    assert scale.x_of("8") < 0.9


def test_a_plane_without_a_line_is_one_all_the_same() -> None:
    scale = scale_of(())
    assert scale.bottom < 1.0 < scale.top


def test_names_keep_apart_and_within_their_room() -> None:
    places = spread_apart([10.0, 11.0, 12.0, 90.0], 10.0, 0.0, 100.0)
    assert places == (10.0, 20.0, 30.0, 90.0)
    crowded = spread_apart([99.0, 98.0, 97.0], 10.0, 0.0, 100.0)
    assert crowded == (100.0, 90.0, 80.0)


def test_progress_says_what_is_answered_and_how_long_it_still_takes() -> None:
    now = ScriptedProgress(12, 64, TASKS[0], "4", 185.0)
    assert progress_words(now) == "12 of 64 · Coding, draft length 4 · 3 min left"
    assert progress_words(ScriptedProgress(0, 64)) == "0 of 64 · warming up"
    lost = ScriptedProgress(3, 64, is_reloading=True)
    assert progress_words(lost) == "3 of 64 · the models are being loaded again"
    assert (
        progress_words(ScriptedProgress(3, 64, TASKS[0], OFF)) == "3 of 64 · Coding, without guessing ahead"
    )


def test_the_circumstances_name_machine_and_day() -> None:
    said = circumstances(RESULT)
    assert "AMD EPYC 9654, up to 2 threads, chosen while running" in said
    assert said.endswith("2026-11-29 22:15 UTC")
    assert "not complete" in circumstances(msgspec.structs.replace(RESULT, is_complete=False))
    assert (
        applied_words(BUNDLE, OFF)
        == "From now on Qwen 1.5B answers without guessing ahead, in Chat and in Compare."
    )
    assert "with draft length 4" in applied_words(BUNDLE, "4")
