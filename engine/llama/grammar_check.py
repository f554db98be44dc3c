"""Refusing, before llama.cpp reads it, a grammar that it would not survive, or that has a plain mistake.

llama.cpp reads and follows a grammar by recursion (src/llama-grammar.cpp): deep nesting overflows its stack, a rule
that begins with itself behind something that may be empty makes it grow without end, and many parts that may be empty
take exponential time. None of that can be interrupted.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from engine.errors import BadOption

ROOT: Final = "root"
_MAX_CHARACTERS: Final = 200_000
_MAX_RULES: Final = 4_000
_MAX_NESTING: Final = 500
_MAX_EMPTY_IN_A_ROW: Final = 64
_MAX_WAYS: Final = 200_000
_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
      | (?P<rule>[A-Za-z0-9-]+\s*::=)
      | (?P<name>[A-Za-z0-9-]+)
      | (?P<string>"(?:\\.|[^"\\])*")
      | (?P<terminal>\[(?:\\.|[^\]\\])*\]|\.)
      | (?P<token>!?<[^>]*>)
      | (?P<repeat>[*+?]|\{[\s\d,]*\})
      | (?P<bracket>[()|])""",
    re.VERBOSE | re.DOTALL,
)


def check_grammar(text: str) -> None:
    """Raise BadOption, with a sentence, for a grammar (GBNF) that must not reach llama.cpp."""
    if "\0" in text:
        raise unreadable("it holds a character of code 0")
    if len(text) > _MAX_CHARACTERS:
        raise unreadable("it is too long")
    rules = _parse(text)
    if ROOT not in rules:
        raise unreadable(f"it has no rule named {ROOT}")
    for alternatives in rules.values():
        for item in (item for items in alternatives for item in items):
            if item.rule is not None and item.rule not in rules:
                raise unreadable(f"there is no rule named “{item.rule}”")
    empty = _may_be_empty(rules)
    _refuse_left_recursion({name: _beginnings(rules[name], empty) for name in rules})


def unreadable(reason: str) -> BadOption:
    return BadOption(f"The grammar cannot be read: {reason}.", remedy="Correct the grammar (GBNF).")


@dataclass(slots=True)
class _Item:
    """A part of an alternative: another rule (None: characters), how often it stands there at most, whether it may be
    left out.
    """

    rule: str | None
    is_optional: bool = False
    n_most: int = 1


_Alternatives = list[list[_Item]]


@dataclass(slots=True)
class _Parser:
    rules: dict[str, _Alternatives] = field(default_factory=dict)
    open: list[_Alternatives] = field(default_factory=list)
    name: str = ""

    def begin(self, name: str) -> None:
        if len(self.open) > 1:
            raise unreadable(f"a bracket is not closed in rule “{self.name}”")
        self.name, self.open = name, [self._add(name)]

    def bracket(self, sign: str) -> None:
        if sign == "|":
            self.open[-1].append([])
        elif sign == "(":
            # A group is a rule of its own, named so that a sentence can say where it is.
            name = f"{self.name}({len(self.rules)}"
            self.open[-1][-1].append(_Item(name))
            self.open.append(self._add(name))
        elif len(self.open) < 2:
            raise unreadable(f"a bracket is closed that was not opened in rule “{self.name}”")
        else:
            self.open.pop()
        if len(self.open) > _MAX_NESTING:
            raise unreadable(f"its brackets are nested more than {_MAX_NESTING} deep")

    def repeat(self, sign: str) -> None:
        if not self.open[-1][-1]:
            raise unreadable(f"nothing stands before “{sign}” in rule “{self.name}”")
        item = self.open[-1][-1][-1]
        counts = [int(number[:9]) for number in re.findall(r"\d+", sign)]
        if counts != sorted(counts):
            # llama.cpp would count from the first down to the second by way of 2^64.
            raise unreadable(f"“{sign}” in rule “{self.name}” ends before it begins")
        item.is_optional |= sign in "*?" or 0 in counts
        item.n_most = max(counts, default=1)

    def _add(self, name: str) -> _Alternatives:
        self.rules[name] = [[]]
        if len(self.rules) > _MAX_RULES:
            raise unreadable("it is too long")
        return self.rules[name]


def _parse(text: str) -> dict[str, _Alternatives]:
    parser, at = _Parser(), 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or not (parser.open or match.lastgroup in ("space", "rule")):
            raise unreadable(f"line {text.count(chr(10), 0, at) + 1} is not understood")
        sign, at = match[0], match.end()
        match match.lastgroup:
            case "rule":
                parser.begin(sign.removesuffix("::=").rstrip())
            case "bracket":
                parser.bracket(sign)
            case "repeat":
                parser.repeat(sign)
            case "token":
                # Where tokens and characters meet, llama.cpp allows what it then ends the process over.
                raise unreadable(f"“{sign[:30]}” names a token; only characters can be used")
            case "name":
                parser.open[-1][-1].append(_Item(sign))
            case "string" | "terminal":
                parser.open[-1][-1].append(_Item(None, is_optional=sign == '""'))
    if len(parser.open) > 1:
        raise unreadable(f"a bracket is not closed in rule “{parser.name}”")
    return parser.rules


def _may_be_empty(rules: dict[str, _Alternatives]) -> set[str]:
    """Return the rules that may stand for no character at all."""
    users = defaultdict(set)
    for name, alternatives in rules.items():
        for item in (item for items in alternatives for item in items):
            users[item.rule].add(name)
    empty: set[str | None] = set()
    waiting = list(rules)
    while waiting:
        name = waiting.pop()
        if name not in empty and any(
            all(item.is_optional or item.rule in empty for item in items) for items in rules[name]
        ):
            empty.add(name)
            waiting.extend(users[name])
    return {name for name in empty if name is not None}


def _beginnings(alternatives: _Alternatives, empty: set[str]) -> list[str]:
    """Return the rules that may come first in a rule, as often as they may."""
    first: list[str] = []
    for items in alternatives:
        is_first, n_empty = True, 0
        for item in items:
            may_be_empty = item.is_optional or item.rule in empty
            if is_first and item.rule is not None:
                first.append(item.rule)
            is_first = is_first and may_be_empty
            n_empty = n_empty + (item.n_most if item.rule in empty else 1) if may_be_empty else 0
            if n_empty > _MAX_EMPTY_IN_A_ROW:
                raise unreadable("too many parts in a row may be empty")
    return first


def _refuse_left_recursion(beginnings: dict[str, list[str]]) -> None:
    """Walk along what comes first in each rule, as llama.cpp does, without its recursion and its repetitions."""
    n_ways: dict[str, int] = {}
    for start in beginnings:
        path, on_path = [start], {start}
        while path:
            name = path[-1]
            following = next((other for other in beginnings[name] if other not in n_ways), None)
            if following in on_path:
                raise unreadable(f"rule “{str(following).split('(')[0]}” begins with itself")
            if following is not None:
                path.append(following)
                on_path.add(following)
                continue
            n_ways[name] = 1 + sum(n_ways[other] for other in beginnings[name])
            if n_ways[name] > _MAX_WAYS:
                raise unreadable("too many parts may be empty")
            on_path.discard(path.pop())
