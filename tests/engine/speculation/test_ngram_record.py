from __future__ import annotations

import numpy as np
import pytest

from engine.speculation.ngram_record import NgramRecord, Support


@pytest.mark.parametrize("support", Support)
def test_first_guess_rises_with_the_length_of_the_match(support: Support) -> None:
    chances = [NgramRecord().chance(n, support) for n in range(1, 40)]
    assert chances == sorted(chances)
    assert 0.0 < chances[0] < chances[-1] < 1.0


def test_agreement_raises_the_chance() -> None:
    record = NgramRecord()
    chances = [record.chance(4, support) for support in (Support.HARDLY, Support.MOSTLY, Support.AGREED)]
    assert chances == sorted(chances)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_chances_become_what_happens(rate: float) -> None:
    record, rng = NgramRecord(), np.random.default_rng(1)
    said = []
    for i in range(400):
        said.append(record.chance(4, Support.ALONE))
        record.learn(4, Support.ALONE, was_right=bool(rng.random() < rate))
        if i < 100:
            said.clear()
    assert np.mean(said) == pytest.approx(rate, abs=0.08)


def test_a_text_that_changes_is_followed_within_some_dozen_proposals() -> None:
    record = NgramRecord()
    for _ in range(500):
        record.learn(4, Support.ALONE, was_right=True)
    sure = record.chance(4, Support.ALONE)
    for _ in range(30):
        record.learn(4, Support.ALONE, was_right=False)
    assert sure > 0.95
    assert record.chance(4, Support.ALONE) < 0.5


def test_what_one_length_shows_tells_about_the_others() -> None:
    record = NgramRecord()
    before = record.chance(12, Support.AGREED)
    for _ in range(10):
        record.learn(3, Support.ALONE, was_right=False)
    assert record.chance(12, Support.AGREED) < before
