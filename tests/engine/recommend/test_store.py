from __future__ import annotations

from pathlib import Path

import pytest

from engine.models.bundle import Bundle, DrafterChoice, DrafterKind
from engine.recommend.advice import ComputerSpeed, DeviceSpeed, SpeedRange
from engine.recommend.store import (
    FIGURES_FILE_NAME,
    MOST_FIGURES,
    NO_FIGURES,
    SPEED_FILE_NAME,
    keep_speed,
    own_figures,
    read_speed,
    remember_race,
)


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    (tmp_path / "target.gguf").write_bytes(b"x" * 10)
    return Bundle("Any name", str(tmp_path / "target.gguf"))


def test_the_speed_of_the_computer_is_kept(tmp_path: Path) -> None:
    assert read_speed(tmp_path) == ComputerSpeed()
    speed = ComputerSpeed((DeviceSpeed("CUDA0", 4e11, 500.0, 98_000_000, "2026-11-29T10:00:00+00:00"),))
    keep_speed(speed, tmp_path)
    assert read_speed(tmp_path) == speed


def test_own_figures_are_the_range_of_the_latest_races(tmp_path: Path, bundle: Bundle) -> None:
    assert own_figures(bundle, tmp_path) == NO_FIGURES
    for plain in (1.0, *[20.0] * (MOST_FIGURES - 2), 24.0, 22.0):
        remember_race(bundle, plain, plain * 2, tmp_path)
    found = own_figures(bundle, tmp_path)
    assert found.plain == SpeedRange(20.0, 24.0, is_measured=True)
    assert found.speculative == SpeedRange(40.0, 48.0, is_measured=True)


def test_plain_figures_count_for_every_drafter_and_speculative_ones_for_their_own(
    tmp_path: Path, bundle: Bundle
) -> None:
    (tmp_path / "draft.gguf").write_bytes(b"y" * 5)
    drafter = DrafterChoice(DrafterKind.MODEL, str(tmp_path / "draft.gguf"))
    with_model = Bundle("Another name", bundle.target, drafter)
    remember_race(with_model, 20.0, 31.0, tmp_path)
    assert own_figures(bundle, tmp_path).plain == SpeedRange(20.0, 20.0, is_measured=True)
    assert own_figures(bundle, tmp_path).speculative is None
    assert own_figures(with_model, tmp_path).speculative == SpeedRange(31.0, 31.0, is_measured=True)


def test_figures_survive_a_move_but_not_another_file_of_the_same_name(tmp_path: Path, bundle: Bundle) -> None:
    remember_race(bundle, 20.0, 31.0, tmp_path)
    (tmp_path / "elsewhere").mkdir()
    moved = Path(bundle.target).rename(tmp_path / "elsewhere" / "target.gguf")
    assert own_figures(Bundle("x", str(moved)), tmp_path).plain is not None
    moved.write_bytes(b"x" * 11)
    assert own_figures(Bundle("x", str(moved)), tmp_path) == NO_FIGURES


@pytest.mark.parametrize(("plain", "speculative"), [(0.0, 1.0), (1.0, -1.0), (float("nan"), 1.0), (1.0, 1e9)])
def test_what_is_no_speed_is_not_remembered(
    tmp_path: Path, bundle: Bundle, plain: float, speculative: float
) -> None:
    remember_race(bundle, plain, speculative, tmp_path)
    assert own_figures(bundle, tmp_path) == NO_FIGURES


def test_damaged_files_are_no_trouble(tmp_path: Path, bundle: Bundle) -> None:
    for name in (SPEED_FILE_NAME, FIGURES_FILE_NAME):
        (tmp_path / name).write_bytes(b'{"by_pair": 3, "devices": \xff')
    assert read_speed(tmp_path) == ComputerSpeed()
    remember_race(bundle, 20.0, 31.0, tmp_path)
    assert own_figures(bundle, tmp_path).plain is not None
