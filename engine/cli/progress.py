"""One line on standard error that says how far something is, where that is a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from engine.cli.terminal import is_terminal, printable, width

_CLEAR_LINE = "\r\x1b[2K"
_REDRAW_EVERY_S = 0.1


class ProgressLine:
    """A context manager; the line is gone at its end. Where nobody looks, only notes are written."""

    def __init__(self) -> None:
        self._is_shown = is_terminal(sys.stderr)
        self._shown_at_s = 0.0

    def show(self, text: str) -> None:
        """Put `text` in place of what the line said; not more often than anybody can read."""
        now_s = time.monotonic()
        if self._is_shown and now_s - self._shown_at_s >= _REDRAW_EVERY_S:
            self._shown_at_s = now_s
            sys.stderr.write(f"{_CLEAR_LINE}{printable(text)[: width() - 1]}")
            sys.stderr.flush()

    def note(self, text: str) -> None:
        """Write a line that stays, to standard error whatever that is."""
        sys.stderr.write(f"{_CLEAR_LINE if self._is_shown else ''}{printable(text)}\n")
        sys.stderr.flush()
        self._shown_at_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_shown:
            sys.stderr.write(_CLEAR_LINE)
            sys.stderr.flush()
