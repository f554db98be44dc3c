from __future__ import annotations

import msgspec
import pytest

from engine.bench.advice import worth_enabling, worth_for
from engine.bench.figures import end_to_end_speedup
from engine.bench.results import DrafterMemory
from tests.engine.bench.records import record
from tests.engine.bench.results import raced, result_of

MIXED = [*raced("coding", "auto", 2.0, 0.9), *raced("creative", "auto", 1.1, 0.3)]


def test_a_gain_is_a_yes_with_what_gains_most_and_least() -> None:
    said = worth_enabling(result_of(MIXED))
    assert said.startswith(
        "Yes, with draft length auto it writes 1.48 times as fast here as without speculation over 2 kinds of text."
    )
    assert (
        "It does most for coding (2.00 times, 90% accepted), least for creative (1.10 times, 30% accepted): "
        "the better the next words can be foreseen, the more drafts are accepted." in said
    )
    assert "costs speed" not in said


def test_a_loss_is_a_no_and_a_difference_that_is_none_is_said_to_be_none() -> None:
    said = worth_enabling(result_of(raced("coding", "3", 0.7, 0.5)))
    assert said.startswith("No, with draft length 3 it writes only 0.70 times as fast here as without")
    said = worth_enabling(result_of(raced("coding", "auto", 1.01, 0.5)))
    assert said.startswith("It makes little difference, with draft length auto it writes 1.01 times as fast")


def test_what_loses_is_named_beside_what_gains() -> None:
    said = worth_enabling(result_of([*raced("coding", "4", 1.9, 0.9), *raced("creative", "4", 0.8, 0.2)]))
    assert "It costs speed in creative (0.80 times)." in said


def test_where_most_kinds_lose_those_that_do_not_are_named() -> None:
    kinds = [("coding", 1.3), ("maths", 0.8), ("creative", 0.8), ("questions", 0.7), ("editing", 0.9)]
    said = worth_enabling(result_of([run for kind, gain in kinds for run in raced(kind, "4", gain, 0.5)]))
    assert "It costs speed in all but coding." in said
    assert "foreseen" not in said


def test_where_nothing_was_drafted_a_difference_is_chance_and_no_loss() -> None:
    idle = [record("creative-1", "off", 10.0), record("creative-1", "auto", 9.0)]
    said = worth_enabling(result_of([*raced("coding", "auto", 1.5, 0.8), *idle]))
    assert "In creative nothing was drafted, so that what differs there is mostly chance." in said
    assert "costs speed" not in said
    assert "It drafted nothing at all, so that what differs there" in worth_enabling(result_of(idle))


def test_what_was_measured_once_may_be_chance() -> None:
    once = worth_enabling(result_of(MIXED))
    assert once.endswith("Every answer was measured once, so that a few percent may be chance.")
    again = [msgspec.structs.replace(run, repeat=1) for run in MIXED]
    assert "chance" not in worth_enabling(result_of([*MIXED, *again]))


def test_where_everything_loses_the_least_loss_is_named() -> None:
    said = worth_enabling(result_of([*raced("coding", "4", 0.9, 0.6), *raced("creative", "4", 0.5, 0.2)]))
    assert (
        "It costs least in coding (0.90 times, 60% accepted), most in creative (0.50 times, 20% accepted)"
        in said
    )


def test_what_does_not_gain_is_not_named_for_its_gain() -> None:
    kinds = [("coding", 1.3), ("maths", 0.95), ("creative", 0.9), ("questions", 0.8)]
    said = worth_enabling(result_of([run for kind, gain in kinds for run in raced(kind, "4", gain, 0.5)]))
    assert "It does most for coding (1.30 times, 50% accepted), least for questions (0.80 times" in said
    even = [*raced("coding", "4", 1.0, 0.6), *raced("creative", "4", 0.7, 0.6)]
    assert (
        "It makes least difference in coding (1.00 times, 60% accepted), and costs most in creative (0.70 times"
        in worth_enabling(result_of(even))
    )


def test_where_nothing_was_drafted_nothing_is_said_of_what_was_accepted() -> None:
    idle = [record("creative-1", "off", 10.0), record("creative-1", "auto", 10.0)]
    assert "foreseen" not in worth_enabling(result_of([*raced("coding", "auto", 1.5, 0.8), *idle]))


def test_kinds_that_gain_alike_are_not_ranked() -> None:
    said = worth_enabling(result_of([*raced("coding", "auto", 1.5, 0.7), *raced("maths", "auto", 1.6, 0.7)]))
    assert "All kinds of text gain about the same, 1.50 to 1.60 times." in said


def test_a_fixed_length_that_was_faster_than_auto_is_named() -> None:
    fixed = [raced("coding", "4", 2.4, 0.9)[1], raced("creative", "4", 1.35, 0.5)[1]]
    assert "A fixed draft length of 4 was faster still: 1.80 times." in worth_enabling(
        result_of([*MIXED, *fixed])
    )
    by_chance = [raced("coding", "4", 2.02, 0.9)[1], raced("creative", "4", 1.12, 0.5)[1]]
    assert "faster still" not in worth_enabling(result_of([*MIXED, *by_chance]))


def test_a_long_prompt_with_a_short_answer_is_told_from_start_to_end() -> None:
    runs = [*raced("coding", "auto", 2.0, 0.9), *raced("questions", "auto", 2.0, 0.9, prefill_s=12.6)]
    said = worth_enabling(result_of(runs))
    assert (
        "In questions, 67% of the time goes into reading the prompt, which speculation cannot shorten" in said
    )
    assert "from start to end it is 1.20 times as fast there." in said


def test_end_to_end_compares_answers_of_the_same_length_and_counts_the_drafters_reading() -> None:
    runs = [
        record("a-1", "off", 10.0, n_tokens=11, prefill_s=1.0),
        record("a-1", "3", 20.0, n_tokens=41, prefill_s=1.5),
    ]
    assert end_to_end_speedup(runs, "3") == pytest.approx(2.0 / 2.0)
    assert end_to_end_speedup(runs, "8") is None


def test_temperature_is_told() -> None:
    assert "This holds for temperature 0, at which it was measured." in worth_enabling(result_of(MIXED))
    assert "This holds for temperature 0.8" in worth_enabling(result_of(MIXED, temperature=0.8))


@pytest.mark.parametrize(
    ("memory", "sentence"),
    [
        (DrafterMemory(3 << 29, 8192, 12_288), "takes 1.5 GiB of memory: the largest context is 8,192 tokens with"),
        (DrafterMemory(3 << 29, 8192, 8192), "What drafts takes 1.5 GiB of memory."),
        (DrafterMemory(400 << 20), "What drafts takes 400 MiB of memory."),
        (DrafterMemory(0), "What drafts takes no memory worth mentioning."),
    ],
)  # fmt: skip
def test_what_the_drafter_takes_from_the_context_is_told(memory: DrafterMemory, sentence: str) -> None:
    assert sentence in worth_enabling(msgspec.structs.replace(result_of(MIXED), memory=memory))


def test_what_was_not_compared_or_broken_off_is_admitted() -> None:
    alone = result_of([record("coding-1", "off", 10.0)])
    assert worth_enabling(alone).startswith("Nothing can be said yet")
    assert worth_for(alone, "coding").startswith("Nothing can be said about coding")
    assert "broken off" in worth_enabling(result_of(MIXED, is_complete=False))


def test_one_kind_of_text_has_a_paragraph_of_its_own() -> None:
    said = worth_for(result_of(MIXED), "coding")
    assert said.startswith(
        "Coding: yes, with draft length auto it writes 2.00 times as fast here as without speculation, "
        "20.0 instead of 10.0 tokens per second. 90% of what was drafted was accepted."
    )
    drafted_nothing = [*raced("coding", "auto", 2.0, 0.9)[:1], record("coding-1", "auto", 10.0)]
    assert "Nothing was drafted." in worth_for(result_of(drafted_nothing), "coding")
