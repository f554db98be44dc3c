from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.ngram import Match, NgramDrafter, NgramIndex, NgramSettings
from engine.speculation.round import DraftSource
from engine.speculation.settings import SamplingSettings
from tests.numpy_models import NumpySampler, freely

RNG = np.random.default_rng(0)
SAMPLER = NumpySampler(SamplingSettings())


def drafted(history: Sequence[int], n_max: int = 4, settings: NgramSettings | None = None) -> list[int]:
    drafter = NgramDrafter(settings or NgramSettings(min_match=2, max_match=8))
    drafter.begin(history)
    return list(drafter.draft(history, n_max, SAMPLER, RNG, freely).tokens)


def test_what_followed_before_is_proposed() -> None:
    assert drafted([0, 1, 2, 3, 4, 5, 6, 9, 0, 1, 2], n_max=2) == [3, 4]


def test_match_is_trusted_for_one_token_less_than_it_has() -> None:
    history = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert drafted([*history, 0, 2, 3], n_max=16) == [4]
    assert drafted([*history, 0, 2, 3, 4], n_max=16) == [5, 6]
    assert drafted([*history, 0, 2, 3, 4, 5], n_max=16) == [6, 7, 8]
    assert drafted([*history, 0, 2, 3, 4, 5], n_max=2) == [6, 7]


def test_longest_match_wins_over_a_more_recent_one() -> None:
    assert drafted([7, 1, 2, 50, 51, 8, 1, 2, 60, 61, 7, 1, 2], n_max=2) == [50, 51]


def test_most_recent_of_equal_matches_wins() -> None:
    assert drafted([1, 2, 50, 51, 9, 1, 2, 60, 61, 8, 1, 2]) == [60]


def test_matches_beyond_the_longest_that_counts_are_equal() -> None:
    history = [5, 6, 1, 2, 50, 0, 9, 6, 1, 2, 60, 0, 5, 6, 1, 2]
    assert drafted(history, n_max=1, settings=NgramSettings(min_match=2, max_match=3)) == [60]
    assert drafted(history, n_max=1, settings=NgramSettings(min_match=2, max_match=4)) == [50]


@pytest.mark.parametrize("history", [[1], [1, 2], [1, 2, 3, 4, 5], [2, 9, 1, 3, 8, 1]])
def test_without_a_match_nothing_is_proposed(history: list[int]) -> None:
    assert drafted(history) == []


def test_repetition_is_continued_beyond_its_end() -> None:
    assert drafted([9, *[1, 2, 3] * 4, 1, 2], n_max=7) == [3, 1, 2, 3, 1, 2, 3]
    assert drafted([4] * 9, n_max=5) == [4, 4, 4, 4, 4]


def test_draft_is_a_point_mass() -> None:
    drafter = NgramDrafter(NgramSettings(min_match=2))
    drafter.begin([1, 2, 3, 1, 2])
    draft = drafter.draft([1, 2, 3, 1, 2], 1, SAMPLER, RNG, freely)
    assert (draft.tokens, draft.source, draft.distributions) == ((3,), DraftSource.NGRAM, None)


def test_answer_tokens_are_found_too() -> None:
    drafter = NgramDrafter(NgramSettings(min_match=2))
    drafter.begin([9, 9, 1])
    history = [9, 9, 1, 2, 3, 4]
    assert drafter.draft(history, 2, SAMPLER, RNG, freely).tokens == ()
    assert drafter.draft([*history, 1, 2, 3], 2, SAMPLER, RNG, freely).tokens == (4, 1)


def test_tokens_of_an_edited_away_answer_are_forgotten() -> None:
    drafter = NgramDrafter(NgramSettings(min_match=2))
    drafter.begin([9, 1, 2, 3, 4])
    drafter.begin([9, 1, 7, 1, 2])
    assert drafter.draft([9, 1, 7, 1, 2], 2, SAMPLER, RNG, freely).tokens == ()


def test_number_of_places_looked_at_is_bounded() -> None:
    # The only long match is the oldest place of all.
    history = [5, 1, 2, 50, *[6, 1, 2, 60] * 10, 5, 1, 2]
    few = NgramSettings(min_match=2, max_match=8, max_candidates=3)
    assert drafted(history, n_max=1) == [50]
    assert drafted(history, n_max=1, settings=few) == [60]


TOKENS = st.lists(st.integers(0, 3), max_size=40)


@given(kept=TOKENS, dropped=TOKENS, added=TOKENS, n=st.integers(1, 4))
def test_truncated_index_equals_a_fresh_one(
    kept: list[int], dropped: list[int], added: list[int], n: int
) -> None:
    edited, fresh = NgramIndex(n), NgramIndex(n)
    edited.extend([*kept, *dropped])
    edited.truncate(len(kept))
    edited.extend([*kept, *added])
    fresh.extend([*kept, *added])
    assert vars(edited) == vars(fresh)


@given(history=TOKENS, n=st.integers(1, 4))
def test_longest_match_is_that_of_a_search_by_hand(history: list[int], n: int) -> None:
    index = NgramIndex(n)
    index.extend(history)
    best: tuple[int, int] | None = None
    for start in range(1, len(history)):
        length = 0
        while length < min(start, 6) and history[start - 1 - length] == history[-1 - length]:
            length += 1
        if length >= n:
            best = max(best or (0, 0), (length, start))
    match = Match(next_position=best[1], n_tokens=best[0]) if best else None
    assert index.longest_match(max_match=6, max_candidates=1000) == match
