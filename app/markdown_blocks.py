"""Cuts Markdown that is still being written into blocks, so that only the last one is rendered again.

A block ends at a blank line outside a fence, unless a list goes on behind it; a fenced block of code is one
of its own. A block of text is never longer than a bound, because rendering costs grow with its length: a
longer one is cut at the end of a line, or of a word. Link definitions and emphasis do not reach across
blocks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

MOST_CHARACTERS = 4000
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)[^`]*$")
_LIST_ITEM = re.compile(r"^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_INDENTED = re.compile(r"^(?: {2,}|\t)")


class BlockKind(StrEnum):
    TEXT = "text"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Block:
    """`text` of a CODE block is the code alone, `language` what its fence says."""

    kind: BlockKind
    text: str
    language: str = ""


class BlockSplitter:
    """Takes text as it comes. `finished` blocks never change again; `current` is the one that still grows."""

    def __init__(self) -> None:
        self.finished: list[Block] = []
        self._lines: list[str] = []
        self._length = 0
        self._rest = ""
        self._fence = ""
        self._language = ""
        self._after_blank = False

    @property
    def current(self) -> Block | None:
        """Return the block that still grows; None between two blocks."""
        text = "".join(self._lines) + self._rest
        if self._fence:
            return Block(BlockKind.CODE, text.rstrip("\n"), self._language)
        return Block(BlockKind.TEXT, text) if text.strip() else None

    def feed(self, text: str) -> None:
        """Take `text` in, whatever the place at which it was cut."""
        lines = (self._rest + text.replace("\r", "")).split("\n")
        self._rest = lines.pop()
        for line in lines:
            self._take(line)
        if len(self._rest) > MOST_CHARACTERS and not self._fence:
            self._cut_rest()

    def close(self) -> None:
        """The text is complete: what is left becomes a block."""
        if self._rest:
            rest, self._rest = self._rest, ""
            self._take(rest)
        self._finish()

    def _take(self, line: str) -> None:
        """Take one whole line."""
        if self._fence:
            if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
                self._finish()
            else:
                self._add(line)
            return
        opening = _FENCE.match(line)
        if opening and not self._goes_on_with(line):
            self._finish()
            self._fence, self._language = opening.group(1), opening.group(2)
            return
        if self._after_blank and line.strip() and not self._goes_on_with(line):
            self._finish()
        self._after_blank = not line.strip()
        self._add(line)
        if self._length > MOST_CHARACTERS:
            self._finish()

    def _goes_on_with(self, line: str) -> bool:
        """Whether `line` belongs to the list that the current block is."""
        is_list = bool(self._lines) and _LIST_ITEM.match(self._lines[0]) is not None
        return is_list and bool(_LIST_ITEM.match(line) or _INDENTED.match(line))

    def _add(self, line: str) -> None:
        if self._lines or line.strip() or self._fence:
            self._lines.append(line + "\n")
            self._length += len(line) + 1

    def _finish(self) -> None:
        text = "".join(self._lines)
        if self._fence:
            self.finished.append(Block(BlockKind.CODE, text.rstrip("\n"), self._language))
        elif text.strip():
            self.finished.append(Block(BlockKind.TEXT, text))
        self._lines, self._length = [], 0
        self._fence = self._language = ""
        self._after_blank = False

    def _cut_rest(self) -> None:
        """Cut a line that is too long to render as one, at a space where there is one."""
        at = self._rest.rfind(" ", 1, MOST_CHARACTERS)
        at = at if at > 0 else MOST_CHARACTERS
        head, self._rest = self._rest[:at], self._rest[at:].lstrip(" ")
        self._take(head)
        self._finish()
