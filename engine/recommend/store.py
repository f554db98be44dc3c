"""What this computer was measured to do, and what it did: kept as JSON in the data folder.

Figures of races are kept by the target's file, and those with a drafter by the drafter too, so that moving a file or
downloading it again loses nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from engine.folders import data_folder
from engine.json_file import read_json, write_json
from engine.models.bundle import Bundle, DrafterKind
from engine.recommend.advice import ComputerSpeed, SpeedRange

SPEED_FILE_NAME: Final = "computer-speed.json"
FIGURES_FILE_NAME: Final = "own-figures.json"
MOST_FIGURES: Final = 8
"""So many of the latest races of a pair count."""


class OwnFigures(msgspec.Struct, frozen=True):
    """What a bundle reached here, from the slowest to the fastest of its latest races; None: never tried."""

    plain: SpeedRange | None = None
    speculative: SpeedRange | None = None


NO_FIGURES: Final = OwnFigures()


class _Figure(msgspec.Struct, frozen=True):
    plain_tokens_per_s: float
    speculative_tokens_per_s: float
    at: str = ""


class _Figures(msgspec.Struct, frozen=True):
    """Figures by target, then by drafter, from old to new."""

    by_pair: dict[str, dict[str, tuple[_Figure, ...]]] = {}


def read_speed(folder: Path | None = None) -> ComputerSpeed:
    """Return what was measured last; `folder` overrides the data folder."""
    return read_json((folder or data_folder()) / SPEED_FILE_NAME, ComputerSpeed, ComputerSpeed())


def keep_speed(speed: ComputerSpeed, folder: Path | None = None) -> None:
    """Remember `speed` in place of what was measured before; raises OSError."""
    write_json((folder or data_folder()) / SPEED_FILE_NAME, speed)


def remember_race(
    bundle: Bundle, plain_tokens_per_s: float, speculative_tokens_per_s: float, folder: Path | None = None
) -> None:
    """Remember what both lanes of a race reached; figures that are no speeds are left out. Raises OSError."""
    remember_speeds(bundle, [(plain_tokens_per_s, speculative_tokens_per_s)], folder)


def remember_speeds(
    bundle: Bundle, speeds: Iterable[tuple[float, float]], folder: Path | None = None
) -> None:
    """Remember pairs of tokens per second, plain and speculative, each as if it were a race. Raises OSError."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    figures = [_Figure(*pair, at) for pair in speeds if all(0 < speed < 1e6 for speed in pair)]
    if not figures:
        return
    path = (folder or data_folder()) / FIGURES_FILE_NAME
    by_pair = read_json(path, _Figures, _Figures()).by_pair
    pairs = by_pair.setdefault(_target_key(bundle), {})
    pairs[_drafter_key(bundle)] = (*pairs.get(_drafter_key(bundle), ()), *figures)[-MOST_FIGURES:]
    write_json(path, _Figures(by_pair))


def own_figures(bundle: Bundle, folder: Path | None = None) -> OwnFigures:
    """Return what `bundle` reached here. Plain decoding counts with whatever drafter it was raced."""
    path = (folder or data_folder()) / FIGURES_FILE_NAME
    pairs = read_json(path, _Figures, _Figures()).by_pair.get(_target_key(bundle), {})
    plain = [figure.plain_tokens_per_s for figures in pairs.values() for figure in figures]
    speculative = [figure.speculative_tokens_per_s for figure in pairs.get(_drafter_key(bundle), ())]
    return OwnFigures(_range(plain), _range(speculative))


def _range(figures: list[float]) -> SpeedRange | None:
    return SpeedRange(min(figures), max(figures), is_measured=True) if figures else None


def pair_key(bundle: Bundle) -> str:
    """Return what names the files of `bundle` wherever they lie: target and drafter, each by name and size."""
    return f"{_target_key(bundle)} with {_drafter_key(bundle)}"


def _target_key(bundle: Bundle) -> str:
    return _file_key(bundle.target)


def _drafter_key(bundle: Bundle) -> str:
    drafter = bundle.drafter
    if drafter.kind in (DrafterKind.NONE, DrafterKind.NGRAM):
        return drafter.kind
    beside = " beside n-gram" if drafter.with_ngram else ""
    return f"{drafter.kind} {_file_key(drafter.path)}{beside}" if drafter.path else f"{drafter.kind}{beside}"


def _file_key(path: str) -> str:
    """Return name and size of the file: many programs call their files "model.gguf"."""
    try:
        size_bytes = os.stat(path).st_size
    except (OSError, ValueError):
        size_bytes = 0
    return f"{Path(path).name} {size_bytes}"
