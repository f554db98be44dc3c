from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from engine.bench.plan import Task
from engine.bench.tasks import CATEGORIES, builtin_tasks, choose_tasks, parse_suite, read_suite
from engine.errors import BadOption, BadSuite, FileGone

WITH_A_PASSAGE = ("editing", "summarising", "questions", "extraction")


def test_the_builtin_suite_has_four_tasks_of_each_of_eight_categories() -> None:
    tasks = builtin_tasks()
    assert Counter(task.category for task in tasks) == dict.fromkeys(CATEGORIES, 4)
    assert tuple(dict.fromkeys(task.category for task in tasks)) == CATEGORIES
    assert len({task.id for task in tasks}) == len({task.prompt for task in tasks}) == 32
    assert all(task.id.startswith(f"{task.category}-") for task in tasks)


def test_the_builtin_tasks_are_long_enough_to_measure_and_short_enough_to_wait_for() -> None:
    for task in builtin_tasks():
        n_words = len(task.prompt.split())
        assert 64 <= task.max_tokens <= 256
        assert 20 <= n_words <= 270, task.id
        if task.category in WITH_A_PASSAGE:
            assert n_words >= 80, task.id


def test_a_file_is_a_suite_with_empty_lines_and_defaults(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"id": "a", "category": "mail", "prompt": "Hello"}\r\n\r\n'
        b'{"id": "b", "category": "mail", "prompt": "Bye", "max_tokens": 7, "system": "Be brief."}\n'
    )
    assert read_suite(str(path)) == (
        Task("a", "mail", "Hello"),
        Task("b", "mail", "Bye", max_tokens=7, system="Be brief."),
    )


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"{", "In line 2 of “x.jsonl” there is no task"),
        (b'{"id": "b", "category": "c"}', "In line 2 of “x.jsonl” there is no task: .*prompt"),
        (b'{"id": "b", "category": "c", "prompt": 3}', "In line 2 of “x.jsonl” there is no task"),
        (b'{"id": "b", "category": "c", "prompt": "\xff"}', "In line 2 of “x.jsonl” there is no task"),
        (b'{"id": " ", "category": "c", "prompt": "p"}', "The task in line 2 of “x.jsonl” has no id"),
        (b'{"id": "b", "category": "c", "prompt": "p", "max_tokens": 0}', "asks for 0 tokens"),
        (b'{"id": "a", "category": "c", "prompt": "p"}', "The task “a” is in “x.jsonl” twice"),
    ],
)
def test_a_bad_line_is_named(line: bytes, sentence: str) -> None:
    good = b'{"id": "a", "category": "c", "prompt": "p"}\n'
    with pytest.raises(BadSuite, match=sentence):
        parse_suite(good + line, "x.jsonl")


def test_a_file_that_is_empty_or_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadSuite, match=r"There is no task in “x\.jsonl”"):
        parse_suite(b"\n \n", "x.jsonl")
    with pytest.raises(FileGone, match=r"none\.jsonl” cannot be read"):
        read_suite(str(tmp_path / "none.jsonl"))
    with pytest.raises(FileGone):
        read_suite("a\0b")


def test_tasks_are_chosen_by_category_number_and_length() -> None:
    chosen = choose_tasks(builtin_tasks(), ("creative", "coding"), 2, 64)
    assert [task.category for task in chosen] == ["coding", "coding", "creative", "creative"]
    assert {task.max_tokens for task in chosen} == {64}
    assert choose_tasks(builtin_tasks(), max_tokens=10_000) == builtin_tasks()
    with pytest.raises(BadOption, match="There is no category “poems”; there are coding, editing"):
        choose_tasks(builtin_tasks(), ("poems",))
