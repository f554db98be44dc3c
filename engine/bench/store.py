"""The latest bench of each bundle, kept in the data folder and known to recommendations from then on."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from engine.bench.journal import FOLDER
from engine.bench.plan import OFF
from engine.bench.results import BenchResult, BenchRunRecord
from engine.folders import data_folder
from engine.json_file import read_json, write_json
from engine.models.bundle import Bundle
from engine.recommend.races import LEAST_TOKENS
from engine.recommend.store import pair_key, remember_speeds
from engine.worker.messages import LoadSettings

_AS_USUAL: Final = LoadSettings()


def keep_result(
    bundle: Bundle, result: BenchResult, folder: Path | None = None, load: LoadSettings = _AS_USUAL
) -> None:
    """Keep `result` in place of the last one of `bundle`, and have its speeds count as this computer's own figures.

    One that was broken off does not take the place of a whole one, and its speeds do not count: it may go on later. Nor
    do those of a bundle that was loaded with other threads or layers than usual, as `load` says: they would foretell
    what nobody gets. `folder` overrides the data folder. Raises OSError.
    """
    last = latest_result(bundle, folder)
    if not result.figures or (last is not None and last.is_complete and not result.is_complete):
        return
    write_json(result_path(bundle, folder), result)
    is_usual = (load.n_threads, load.n_gpu_layers) == (_AS_USUAL.n_threads, _AS_USUAL.n_gpu_layers)
    if result.is_complete and is_usual:
        remember_speeds(bundle, bench_speeds(result), folder)


def latest_result(bundle: Bundle, folder: Path | None = None) -> BenchResult | None:
    """Return what was measured last with the files of `bundle`, wherever they lie now; None where nothing was."""
    return read_json(result_path(bundle, folder), BenchResult, None)


def bench_speeds(result: BenchResult) -> tuple[tuple[float, float], ...]:
    """Return the tokens per second of each category, plain and with drafts, that tell as much as a race does.

    The median over answers of LEAST_TOKENS or more; a category in which nothing was drafted is left out.
    """
    speeds = []
    for category in dict.fromkeys(run.category for run in result.runs):
        runs = [run for run in result.runs if run.category == category and run.n_tokens >= LEAST_TOKENS]
        plain = _speeds(run for run in runs if run.mode == OFF)
        drafting = [run for run in runs if run.mode == result.drafting_mode]
        drafted = _speeds(drafting)
        if plain and drafted and any(sum(run.drafted_by_position) for run in drafting):
            speeds.append((statistics.median(plain), statistics.median(drafted)))
    return tuple(speeds)


def _speeds(runs: Iterable[BenchRunRecord]) -> list[float]:
    return [run.tokens_per_s for run in runs if run.tokens_per_s is not None]


def result_path(bundle: Bundle, folder: Path | None = None) -> Path:
    """Return the file that the latest result of `bundle` is kept in; `folder` overrides the data folder."""
    name = hashlib.sha256(pair_key(bundle).encode(errors="surrogateescape")).hexdigest()[:16]
    return (folder or data_folder()) / FOLDER / f"{name}.json"
