from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.ngram_index import NgramIndex, Place

TOKENS = st.lists(st.integers(0, 3), max_size=40)
LENGTHS = st.sets(st.integers(1, 5), min_size=1, max_size=3)


def contents(index: NgramIndex) -> object:
    return index.tokens, [(chain.n, chain._newest, chain._older) for chain in index._chains]


@given(kept=TOKENS, dropped=TOKENS, added=TOKENS, lengths=LENGTHS)
def test_truncated_index_equals_a_fresh_one(
    kept: list[int], dropped: list[int], added: list[int], lengths: set[int]
) -> None:
    edited, fresh = NgramIndex(tuple(lengths)), NgramIndex(tuple(lengths))
    edited.extend([*kept, *dropped])
    edited.truncate(len(kept))
    edited.extend([*kept, *added])
    fresh.extend([*kept, *added])
    assert contents(edited) == contents(fresh)


@given(history=TOKENS, lengths=LENGTHS)
def test_places_are_those_of_a_search_by_hand(history: list[int], lengths: set[int]) -> None:
    index = NgramIndex(tuple(lengths))
    index.extend(history)
    by_hand = []
    for start in range(len(history) - 1, 0, -1):
        length = 0
        while length < min(start, 6) and history[start - 1 - length] == history[-1 - length]:
            length += 1
        by_hand.append(Place(start, length))
    longest = max((n for n in lengths if any(place.n_tokens >= n for place in by_hand)), default=None)
    expected = [place for place in by_hand if longest is not None and place.n_tokens >= longest]
    assert index.places(max_match=6, max_places=1000) == expected


def test_a_look_up_in_a_long_sequence_looks_at_no_more_places_than_in_a_short_one() -> None:
    index = NgramIndex((2,))
    index.extend([1, 2, 3] * 5000)
    assert len(index.places(max_match=6, max_places=5)) == 5
