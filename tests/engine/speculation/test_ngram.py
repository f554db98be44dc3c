from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from engine.speculation.ngram import NgramDrafter, NgramSettings
from engine.speculation.protocols import Draft
from engine.speculation.round import DraftSource
from engine.speculation.settings import SamplingSettings
from tests.numpy_models import NumpySampler, freely

RNG = np.random.default_rng(0)
SAMPLER = NumpySampler(SamplingSettings())
EAGER = NgramSettings(run_lengths=(2, 4, 8), min_chance=0.0)


def draft_after(drafter: NgramDrafter, history: Sequence[int], n_max: int = 4) -> Draft:
    return drafter.draft(history, n_max, SAMPLER, RNG, freely)


def drafted(history: Sequence[int], n_max: int = 4, settings: NgramSettings = EAGER) -> list[int]:
    drafter = NgramDrafter(settings)
    drafter.begin(history)
    return list(draft_after(drafter, history, n_max).tokens)


def test_what_followed_before_is_proposed() -> None:
    assert drafted([0, 1, 2, 3, 4, 5, 6, 9, 0, 1, 2], n_max=2) == [3, 4]


def test_longest_match_wins_over_a_more_recent_one() -> None:
    assert drafted([7, 7, 1, 2, 50, 51, 8, 1, 2, 60, 61, 7, 7, 1, 2], n_max=2) == [50, 51]


def test_most_recent_of_equal_matches_wins() -> None:
    assert drafted([1, 2, 50, 51, 9, 1, 2, 60, 61, 8, 1, 2], n_max=2) == [60, 61]


def test_what_most_places_say_wins_over_the_most_recent_one() -> None:
    history = [1, 2, 50, 51, 9, 1, 2, 50, 51, 8, 1, 2, 50, 51, 7, 1, 2, 60, 61, 6, 1, 2]
    assert drafted(history, n_max=2) == [50, 51]


def test_places_that_went_on_differently_say_nothing_more() -> None:
    # 50 is the most frequent; of those places two of three go on with 52, although 51 is the last one's.
    history = [1, 2, 50, 52, 9, 1, 2, 50, 52, 8, 1, 2, 60, 51, 7, 1, 2, 60, 51, 5, 1, 2, 50, 51, 6, 1, 2]
    assert drafted(history, n_max=2) == [50, 52]


def test_matches_beyond_the_longest_that_counts_are_equal() -> None:
    history = [5, 6, 1, 2, 50, 0, 9, 6, 1, 2, 60, 0, 5, 6, 1, 2]
    assert drafted(history, 1, NgramSettings(run_lengths=(2,), max_match=3)) == [60]
    assert drafted(history, 1, NgramSettings(run_lengths=(2,), max_match=4)) == [50]


@pytest.mark.parametrize("history", [[1], [1, 2], [1, 2, 3, 4, 5], [2, 9, 1, 3, 8, 1]])
def test_without_a_match_nothing_is_proposed(history: list[int]) -> None:
    assert drafted(history) == []


def test_repetition_is_continued_beyond_its_end() -> None:
    assert drafted([9, *[1, 2, 3] * 4, 1, 2], n_max=7) == [3, 1, 2, 3, 1, 2, 3]
    assert drafted([4] * 9, n_max=5) == [4, 4, 4, 4, 4]


def test_draft_is_a_point_mass_with_a_chance_for_each_token() -> None:
    drafter = NgramDrafter(EAGER)
    drafter.begin([1, 2, 3, 1, 2])
    draft = draft_after(drafter, [1, 2, 3, 1, 2], 2)
    assert (draft.tokens, draft.source, draft.distributions) == ((3, 1), DraftSource.NGRAM, None)
    assert len(draft.confidences) == 2
    assert all(0.0 < chance < 1.0 for chance in draft.confidences)


def test_longer_matches_are_surer() -> None:
    def chance(n: int) -> float:
        run = list(range(10, 10 + n))
        drafter = NgramDrafter(EAGER)
        history = [1, *run, 3, 2, *run]
        drafter.begin(history)
        return draft_after(drafter, history, 1).confidences[0]

    chances = [chance(n) for n in (2, 3, 4, 8, 16)]
    assert chances == sorted(chances)


def test_gate_is_asked_with_the_chance_and_ends_the_draft() -> None:
    asked: list[tuple[int, float]] = []

    def gate(i: int, confidence: float) -> bool:
        asked.append((i, confidence))
        return i < 2

    history = [1, 2, 3, 4, 5, 1, 2]
    drafter = NgramDrafter(EAGER)
    drafter.begin(history)
    draft = drafter.draft(history, 4, SAMPLER, RNG, gate)
    assert draft.tokens == (3, 4)
    assert [i for i, _ in asked] == [0, 1, 2]
    assert draft.confidences == tuple(confidence for _, confidence in asked[:2])


def test_draft_ends_before_it_is_more_likely_wrong_than_allowed() -> None:
    history = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2]
    long, short = (drafted(history, 9, NgramSettings(min_chance=chance)) for chance in (0.1, 0.3))
    assert 0 < len(short) < len(long) < 9
    assert drafted(history, 9, NgramSettings(min_chance=0.9)) == []


# -------------------------------------------------------------------------------------------------- the record


def told(drafter: NgramDrafter, *, comes_true: bool, n_rounds: int = 12) -> Draft:
    """Run rounds whose first proposal comes true or not; return the draft after them."""
    history = [1, 2, 50, 51]
    drafter.begin(history)
    for i in range(n_rounds):
        history += [100 + i, 1, 2]
        draft_after(drafter, history, 1)
        history.append(50 if comes_true else 200 + i)
    history += [99, 1, 2]
    return draft_after(drafter, history, 1)


def test_record_follows_what_came_true() -> None:
    assert told(NgramDrafter(EAGER), comes_true=True).confidences[0] > 0.8
    assert told(NgramDrafter(EAGER), comes_true=False).confidences[0] < 0.3


def test_a_text_where_nothing_comes_true_is_no_longer_drafted_for() -> None:
    assert told(NgramDrafter(), comes_true=False, n_rounds=20).tokens == ()


def test_record_learns_from_proposals_that_nobody_wanted() -> None:
    drafter = NgramDrafter(EAGER)
    history = [1, 2, 50, 51]
    drafter.begin(history)
    asked: list[float] = []

    def refuse(i: int, confidence: float) -> bool:
        asked.append(confidence)
        return False

    for i in range(10):
        history += [100 + i, 1, 2]
        assert drafter.draft(history, 4, SAMPLER, RNG, refuse).tokens == ()
        history.append(50)
    assert asked[-1] > asked[0]


def test_only_the_first_wrong_token_of_a_draft_counts() -> None:
    """What follows a wrong token was never put to the test."""
    drafter, twin = NgramDrafter(EAGER), NgramDrafter(EAGER)
    history = [1, 2, 3, 4, 5, 6, 1, 2]
    after = [*history, 9, 4, 5, 6, 1, 2]
    for each, n_max in ((drafter, 4), (twin, 1)):
        each.begin(history)
        draft_after(each, history, n_max)
    assert draft_after(drafter, after).confidences == draft_after(twin, after).confidences


# ------------------------------------------------------------------------------------------------ conversations


def test_answer_tokens_are_found_too() -> None:
    drafter = NgramDrafter(EAGER)
    drafter.begin([9, 9, 1])
    history = [9, 9, 1, 2, 3, 4]
    assert draft_after(drafter, history, 2).tokens == ()
    assert draft_after(drafter, [*history, 1, 2, 3], 2).tokens == (4, 1)


def test_tokens_of_an_edited_away_answer_are_forgotten() -> None:
    drafter = NgramDrafter(EAGER)
    drafter.begin([9, 1, 2, 3, 4])
    drafter.begin([9, 1, 7, 1, 2])
    assert draft_after(drafter, [9, 1, 7, 1, 2], 2).tokens == ()


def test_earlier_turns_of_a_conversation_are_found() -> None:
    drafter = NgramDrafter(EAGER)
    drafter.begin([9, 1, 2, 3, 4, 5])
    draft_after(drafter, [9, 1, 2, 3, 4, 5, 6])
    turn = [9, 1, 2, 3, 4, 5, 6, 8, 2, 3]
    drafter.begin(turn)
    assert draft_after(drafter, turn, 3).tokens == (4, 5, 6)


def test_guesses_of_one_answer_are_not_held_against_the_next_prompt() -> None:
    prompt = [1, 2, 3, 4, 1, 2]
    drafter, fresh = NgramDrafter(EAGER), NgramDrafter(EAGER)
    for each in (drafter, fresh):
        each.begin(prompt)
    draft_after(drafter, prompt)
    longer = [*prompt, 8, 8, 1, 2]
    for each in (drafter, fresh):
        each.begin(longer)
    assert draft_after(drafter, longer) == draft_after(fresh, longer)


def test_number_of_places_looked_at_is_bounded() -> None:
    # The only long match is the oldest place of all.
    history = [5, 1, 2, 50, *[6, 1, 2, 60] * 10, 5, 1, 2]
    few = NgramSettings(run_lengths=(2,), max_places=3)
    many = NgramSettings(run_lengths=(3, 2))
    assert drafted(history, 1, many) == [50]
    assert drafted(history, 1, few) == [60]
