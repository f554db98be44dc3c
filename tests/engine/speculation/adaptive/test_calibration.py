from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from engine.speculation.adaptive.calibration import KNOTS, Calibration, shifted


@pytest.mark.parametrize("confidence", [0.0, 0.05, 0.5, 0.93, 1.0])
def test_a_confidence_is_believed_at_first(confidence: float) -> None:
    assert Calibration().chance(confidence) == pytest.approx(confidence)


@pytest.mark.parametrize("truth", [lambda c: c * c, lambda c: math.sqrt(c), lambda c: 0.3])
def test_what_is_accepted_is_learned(truth: object) -> None:
    assert callable(truth)
    calibration, rng = Calibration(), np.random.default_rng(1)
    for confidence in rng.random(4000):
        calibration.learn(float(confidence), bool(rng.random() < truth(confidence)))
    for confidence in (0.2, 0.5, 0.75, 0.9):
        assert calibration.chance(confidence) == pytest.approx(truth(confidence), abs=0.08)


def test_a_surer_token_is_never_thought_less_likely() -> None:
    calibration, rng = Calibration(), np.random.default_rng(2)
    for _ in range(60):
        calibration.learn(float(rng.random()), bool(rng.random() < 0.5))
    chances = [calibration.chance(i / 100) for i in range(101)]
    assert all(left <= right + 1e-12 for left, right in itertools.pairwise(chances))


def test_what_was_long_ago_is_forgotten() -> None:
    calibration = Calibration()
    for is_accepted in [False] * 2000 + [True] * 2000:
        calibration.learn(0.8, is_accepted)
    assert calibration.chance(0.8) > 0.95


@pytest.mark.parametrize("confidence", [-1.0, 2.0, math.inf, math.nan])
def test_a_confidence_that_is_none_does_no_harm(confidence: float) -> None:
    calibration = Calibration()
    calibration.learn(confidence, True)
    assert 0.0 <= calibration.chance(confidence) <= 1.0


def test_records_of_another_shape_are_left_aside() -> None:
    assert Calibration([1.0], [2.0]).judged == [0.0] * len(KNOTS)


def test_a_shift_moves_the_odds() -> None:
    assert shifted(0.5, 0.0) == pytest.approx(0.5)
    assert shifted(0.5, math.log(3.0)) == pytest.approx(0.75)
    assert 0.0 < shifted(1.0, -4.0) < 1.0
