from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from engine.bench.store import keep_result, latest_result
from engine.models.bundle import Bundle, DrafterChoice, DrafterKind
from engine.recommend.advice import SpeedRange
from engine.recommend.store import NO_FIGURES, own_figures
from engine.worker.messages import LoadSettings
from tests.engine.bench.records import record
from tests.engine.bench.results import raced, result_of

RUNS = [*raced("coding", "auto", 2.0, 0.9), *raced("creative", "auto", 0.8, 0.3)]


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    for name in ("target.gguf", "small.gguf"):
        (tmp_path / name).write_bytes(name.encode())
    drafter = DrafterChoice(DrafterKind.MODEL, str(tmp_path / "small.gguf"))
    return Bundle("Some bundle", str(tmp_path / "target.gguf"), drafter)


def test_the_latest_result_of_a_bundle_is_kept(tmp_path: Path, bundle: Bundle) -> None:
    assert latest_result(bundle, tmp_path) is None
    keep_result(bundle, result_of(RUNS[:2]), tmp_path)
    keep_result(bundle, result_of(RUNS), tmp_path)
    assert latest_result(bundle, tmp_path) == result_of(RUNS)
    beside = msgspec.structs.replace(bundle.drafter, with_ngram=True)
    assert latest_result(Bundle("x", bundle.target, beside), tmp_path) is None
    assert latest_result(Bundle("x", bundle.target), tmp_path) is None


def test_its_speeds_become_the_computers_own_figures(tmp_path: Path, bundle: Bundle) -> None:
    keep_result(bundle, result_of(RUNS), tmp_path)
    found = own_figures(bundle, tmp_path)
    assert found.plain == SpeedRange(10.0, 10.0, is_measured=True)
    assert found.speculative == SpeedRange(8.0, 20.0, is_measured=True)


def test_without_auto_the_best_mode_that_drafts_counts(tmp_path: Path, bundle: Bundle) -> None:
    runs = [*raced("coding", "2", 0.9, 0.5), *raced("coding", "8", 0.5, 0.5)[1:]]
    keep_result(bundle, result_of(runs), tmp_path)
    assert own_figures(bundle, tmp_path).speculative == SpeedRange(9.0, 9.0, is_measured=True)


@pytest.mark.parametrize("load", [LoadSettings(n_threads=1), LoadSettings(n_gpu_layers=0)])
def test_what_was_measured_otherwise_than_usual_is_kept_but_is_no_figure(
    tmp_path: Path, bundle: Bundle, load: LoadSettings
) -> None:
    keep_result(bundle, result_of(RUNS), tmp_path, load)
    assert latest_result(bundle, tmp_path) is not None
    assert own_figures(bundle, tmp_path) == NO_FIGURES


def test_short_answers_and_those_without_a_draft_are_no_figures(tmp_path: Path, bundle: Bundle) -> None:
    short = [msgspec.structs.replace(run, n_tokens=31) for run in RUNS[:2]]
    idle = [record("creative-1", "off", 10.0), record("creative-1", "auto", 10.0)]
    keep_result(bundle, result_of([*short, *idle]), tmp_path)
    assert own_figures(bundle, tmp_path) == NO_FIGURES


def test_what_has_no_baseline_is_kept_but_is_no_figure(tmp_path: Path, bundle: Bundle) -> None:
    result = result_of([record("coding-1", "auto", 10.0)])
    keep_result(bundle, result, tmp_path)
    assert latest_result(bundle, tmp_path) == result
    assert own_figures(bundle, tmp_path) == NO_FIGURES


def test_nothing_measured_leaves_the_last_result(tmp_path: Path, bundle: Bundle) -> None:
    keep_result(bundle, result_of(RUNS), tmp_path)
    keep_result(bundle, result_of([]), tmp_path)
    assert latest_result(bundle, tmp_path) == result_of(RUNS)


def test_what_was_broken_off_is_kept_until_there_is_a_whole_one(tmp_path: Path, bundle: Bundle) -> None:
    torn = result_of(RUNS[:2], is_complete=False)
    keep_result(bundle, torn, tmp_path)
    assert latest_result(bundle, tmp_path) == torn
    assert own_figures(bundle, tmp_path) == NO_FIGURES
    keep_result(bundle, result_of(RUNS), tmp_path)
    keep_result(bundle, torn, tmp_path)
    assert latest_result(bundle, tmp_path) == result_of(RUNS)


def test_a_damaged_file_is_no_result(tmp_path: Path, bundle: Bundle) -> None:
    keep_result(bundle, result_of(RUNS), tmp_path)
    next((tmp_path / "bench").glob("*.json")).write_bytes(b'{"bundle": 3}')
    assert latest_result(bundle, tmp_path) is None
