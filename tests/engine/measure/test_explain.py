from __future__ import annotations

from engine.measure.explain import draft_lengths, explain, has_mostly_skipped, reason, why_nothing
from engine.speculation.round import DraftSource, Round, Skip

DEAR = Skip(DraftSource.DRAFT_MODEL, 3, 2.8, 0.9, 0.9, 0.41)
PROMPT = Round(tokens=(1,), n_prompt=5)
SKIPPED = Round(tokens=(1,), skip=DEAR)


def drafted(n: int) -> Round:
    return Round(tokens=(1,), drafted=(7,) * n, source=DraftSource.DRAFT_MODEL)


def test_the_reason_names_cost_need_and_acceptance() -> None:
    assert reason(DEAR) == (
        "a target pass over 4 tokens costs 2.8 single passes on this computer and drafting by the draft model "
        "0.9 more; this text would need 90 % acceptance, it has 41 %"
    )


def test_a_draft_that_is_free_is_not_said_to_cost() -> None:
    free = Skip(DraftSource.NGRAM, 1, 1.3, 0.0, 0.3, 0.1)
    assert reason(free) == (
        "a target pass over 2 tokens costs 1.3 single passes on this computer; this text would need 30 % "
        "acceptance, it has 10 %"
    )


def test_what_nothing_could_repay_is_said() -> None:
    assert reason(Skip(DraftSource.MTP, 1, 2.4, 0.0, 1.4, 0.9)).endswith(
        "; no acceptance would make up for that"
    )


def test_need_and_acceptance_never_look_the_wrong_way_round() -> None:
    assert reason(Skip(DraftSource.NGRAM, 1, 1.5, 0.0, 0.502, 0.501)).endswith(
        "need 51 % acceptance, it has 50 %"
    )


def test_a_draft_that_was_tried_and_gave_less_is_not_said_to_lack_acceptance() -> None:
    assert reason(Skip(DraftSource.MTP, 2, 1.4, 0.2, 0.3, 0.45)).endswith(
        "; 30 % acceptance would do, but the drafts that were tried gave less"
    )


def test_what_another_drafter_yields_is_part_of_what_is_needed() -> None:
    assert reason(Skip(DraftSource.MTP, 2, 1.4, 0.2, 0.45, 0.3, worth=1.5)) == (
        "a target pass over 3 tokens costs 1.4 single passes on this computer and drafting by the MTP head 0.2 more, "
        "while a single pass's time yields 1.5 tokens; this text would need 45 % acceptance, it has 30 %"
    )


def test_an_answer_without_drafts_says_why() -> None:
    rounds = [PROMPT, SKIPPED, SKIPPED]
    assert explain(rounds) == f"Nothing was drafted: {reason(DEAR)}."
    assert has_mostly_skipped(rounds)


def test_an_answer_that_mostly_drafted_says_how_far() -> None:
    rounds = [PROMPT, drafted(2), drafted(4), drafted(4), SKIPPED]
    assert explain(rounds) == "Drafted 2 to 4 tokens, mostly 4, in 3 of 4 rounds."
    assert draft_lengths(rounds) == (2, 4, 4, 0)


def test_an_answer_that_mostly_skipped_says_both() -> None:
    assert explain([drafted(1), SKIPPED, SKIPPED]) == (
        f"Drafted 1 token, in 1 of 3 rounds; nothing in the others: {reason(DEAR)}."
    )


def test_without_rounds_or_decisions_there_is_nothing_to_explain() -> None:
    assert explain([PROMPT]) == why_nothing([PROMPT]) == ""
    assert explain([PROMPT, Round(tokens=(1,))]) == "Nothing was drafted."
    assert not has_mostly_skipped([PROMPT])
