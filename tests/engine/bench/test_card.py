from __future__ import annotations

import json

import msgspec

from engine.bench.card import as_json, as_markdown, machine_words
from tests.engine.bench.records import MACHINE
from tests.engine.bench.results import raced, result_of

RUNS = [*raced("coding", "auto", 2.0, 0.9), *raced("creative", "auto", 0.8, 0.3)]


def test_threads_that_are_chosen_while_running_are_told_as_such() -> None:
    assert "A processor, 4 threads;" in machine_words(MACHINE)
    chosen = msgspec.structs.replace(MACHINE, chooses_threads=True)
    assert "A processor, up to 4 threads, chosen while running;" in machine_words(chosen)


def test_the_card_has_machine_tables_and_advice() -> None:
    card = as_markdown(result_of(RUNS))
    assert card.startswith(
        "# Some bundle: target.gguf with small.gguf\n\nA processor, 4 threads; Linux 6 x86_64;"
    )
    assert "Temperature 0, 2026-11-29T12:00 UTC." in card
    assert "| coding | 10.0 | 2.00× (20.0) |" in card
    assert "| creative | 10.0 | 0.80× (8.0) |" in card
    assert "| overall | 10.0 | 1.26× (12.6) |" in card
    assert "|  | tokens/s | slowest to fastest kind |" in card
    assert "| auto | 12.6 | 8.0 to 20.0 | 1.26× | 60% |" in card
    assert "Draft length auto:\n\n|  | tokens/s |" in card
    assert "| creative | 8.0 | 8.0 to 8.0 | 0.80× | 30% | 1.24 | 30% 30% |" in card
    assert "It costs speed in creative (0.80 times)." in card


def test_the_card_says_what_is_missing() -> None:
    result = msgspec.structs.replace(
        result_of(RUNS, is_complete=False), left_out=("coding-3: The prompt is too long.",), bundle="a|b"
    )
    card = as_markdown(result)
    assert "The measurement was broken off: this is what there was." in card
    assert "- Left out: coding-3: The prompt is too long." in card


def test_json_names_the_mode_that_the_sentence_names() -> None:
    runs = [*raced("coding", "auto", 1.5, 0.9), *raced("coding", "4", 1.52, 0.9)[1:]]
    assert json.loads(as_json(result_of(runs)))["best_mode"] == "auto"


def test_json_has_everything_on_one_line() -> None:
    text = as_json(result_of(RUNS))
    told = json.loads(text)
    assert "\n" not in text
    assert told["best_mode"] == "auto"
    assert told["advice_by_category"]["creative"].startswith("Creative: no, with draft length auto")
    assert told["advice"].startswith("Yes, with draft length auto")
    assert [one["speedup"] for one in told["figures"]] == [1.0, 2.0, 1.0, 0.8]
    assert len(told["runs"]) == 4
