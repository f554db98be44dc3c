"""The latest bench of each bundle, kept in the data folder and known to recommendations from then on."""

from __future__ import annotations

import hashlib
from pathlib import Path

from engine.bench.journal import FOLDER
from engine.bench.plan import OFF
from engine.bench.results import BenchResult
from engine.folders import data_folder
from engine.json_file import read_json, write_json
from engine.models.bundle import Bundle
from engine.recommend.store import pair_key, remember_speeds


def keep_result(bundle: Bundle, result: BenchResult, folder: Path | None = None) -> None:
    """Keep `result` in place of the last one of `bundle`, and have its speeds count as this computer's own figures.

    One that was broken off does not take the place of a whole one, and its speeds do not count: it may go on later.
    `folder` overrides the data folder. Raises OSError.
    """
    last = latest_result(bundle, folder)
    if not result.figures or (last is not None and last.is_complete and not result.is_complete):
        return
    write_json(_path(bundle, folder), result)
    if result.is_complete:
        remember_speeds(bundle, bench_speeds(result), folder)


def latest_result(bundle: Bundle, folder: Path | None = None) -> BenchResult | None:
    """Return what was measured last with the files of `bundle`, wherever they lie now; None where nothing was."""
    return read_json(_path(bundle, folder), BenchResult, None)


def bench_speeds(result: BenchResult) -> tuple[tuple[float, float], ...]:
    """Return the tokens per second of each category, plain and with drafts, where both were measured."""
    by_category: dict[str, dict[str, float]] = {}
    for one in result.figures:
        if one.tokens_per_s is not None:
            by_category.setdefault(one.category, {})[one.mode] = one.tokens_per_s
    mode = result.drafting_mode
    return tuple(
        (speeds[OFF], speeds[mode]) for speeds in by_category.values() if OFF in speeds and mode in speeds
    )


def _path(bundle: Bundle, folder: Path | None) -> Path:
    name = hashlib.sha256(pair_key(bundle).encode(errors="surrogateescape")).hexdigest()[:16]
    return (folder or data_folder()) / FOLDER / f"{name}.json"
