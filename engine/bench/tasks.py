"""Suites: the tasks that come with Slipstream, or a person's own, one JSON object a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from engine.bench.plan import Task
from engine.errors import BadOption, BadSuite, FileGone

CATEGORIES: Final = (
    "coding",
    "editing",
    "maths",
    "extraction",
    "translation",
    "summarising",
    "questions",
    "creative",
)
"""The categories of the built-in suite, in the order in which they are shown."""
BUILTIN: Final = "builtin"
MOST_ANSWER_TOKENS: Final = 4096
_MAX_BYTES: Final = 16 << 20


def builtin_tasks() -> tuple[Task, ...]:
    """Return the tasks that ship with Slipstream, category by category."""
    folder = files("resources").joinpath("tasks")
    return tuple(
        task
        for category in CATEGORIES
        for task in parse_suite(folder.joinpath(f"{category}.jsonl").read_bytes(), f"{category}.jsonl")
    )


def read_suite(name: str) -> tuple[Task, ...]:
    """Return the tasks of the suite that `name` is: "builtin", or the path of a file with one JSON object a line.

    Raises FileGone for a file that cannot be read, BadSuite for one that is no suite.
    """
    if name == BUILTIN:
        return builtin_tasks()
    path = Path(name)
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise BadSuite(f"The suite “{name}” is larger than 16 MiB.", remedy="Is it a suite of tasks?")
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise FileGone(
            f"The suite “{name}” cannot be read: {getattr(error, 'strerror', None) or error}.",
            remedy="Check its name, or take --suite builtin.",
            detail=str(error),
        ) from error
    return parse_suite(data, path.name)


def parse_suite(data: bytes, name: str) -> tuple[Task, ...]:
    """Return the tasks in `data`; empty lines are skipped. Raises BadSuite, which names the line that is wrong."""
    lines = data.removeprefix(b"\xef\xbb\xbf").splitlines()
    tasks = [
        _parse_line(line, f"line {n} of “{name}”") for n, line in enumerate(lines, start=1) if line.strip()
    ]
    if not tasks:
        raise BadSuite(f"There is no task in “{name}”.", remedy="Write one JSON object a line.")
    twice = [id_ for id_, n in Counter(task.id for task in tasks).items() if n > 1]
    if twice:
        raise BadSuite(
            f"The task “{twice[0]}” is in “{name}” twice.", remedy="Give every task an id of its own."
        )
    return tuple(tasks)


def choose_tasks(
    tasks: Sequence[Task], categories: Sequence[str] = (), n_per_category: int = 0, max_tokens: int = 0
) -> tuple[Task, ...]:
    """Return the first `n_per_category` tasks of each of `categories`, in the suite's order.

    () means all categories, 0 all tasks. `max_tokens` above 0 makes longer answers end earlier. Raises BadOption for a
    category that the suite does not have.
    """
    known = tuple(dict.fromkeys(task.category for task in tasks))
    for category in categories:
        if category not in known:
            raise BadOption(f"There is no category “{category}”; there are {', '.join(known)}.")
    taken: Counter[str] = Counter()
    chosen = []
    for task in tasks:
        is_wanted = not categories or task.category in categories
        if is_wanted and (not n_per_category or taken[task.category] < n_per_category):
            taken[task.category] += 1
            chosen.append(_shortened(task, max_tokens))
    return tuple(chosen)


def _shortened(task: Task, max_tokens: int) -> Task:
    if not max_tokens or task.max_tokens <= max_tokens:
        return task
    return msgspec.structs.replace(task, max_tokens=max_tokens)


def _parse_line(line: bytes, where: str) -> Task:
    try:
        task = msgspec.json.decode(line, type=Task)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadSuite(
            f"In {where} there is no task: {error}.",
            remedy='A task is {"id": "…", "category": "…", "prompt": "…"}, with "max_tokens" and "system" if wished.',
        ) from error
    for name, value in (("id", task.id), ("category", task.category), ("prompt", task.prompt)):
        if not value.strip():
            raise BadSuite(f"The task in {where} has no {name}.", remedy="Give it one.")
    if not 1 <= task.max_tokens <= MOST_ANSWER_TOKENS:
        raise BadSuite(
            f"The task in {where} asks for {task.max_tokens} tokens.",
            remedy=f"max_tokens is between 1 and {MOST_ANSWER_TOKENS}.",
        )
    return task
