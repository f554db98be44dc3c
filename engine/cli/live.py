"""Showing the answers while they come: one section per lane, or both lanes beside each other."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from engine.cli.terminal import FAINT, PLAIN, UNDERLINED, is_terminal, may_colour, printable, width
from engine.cli.wrapping import pad, wrap
from engine.measure.metrics import Metrics
from engine.speculation.round import Round

MIN_COLUMN_WIDTH = 40
_GAP = "   "
_REDRAW_EVERY_S = 1 / 15


class Live(Protocol):
    """Shows rounds as they come. `finish` is called once for each lane, `close` at the end."""

    def show(self, lane: int, done: Round, metrics: Metrics) -> None: ...

    def finish(self, lane: int, tail: str) -> None: ...

    def close(self) -> None: ...


class Silent:
    """Shows nothing: for --json."""

    def show(self, lane: int, done: Round, metrics: Metrics) -> None: ...

    def finish(self, lane: int, tail: str) -> None: ...

    def close(self) -> None: ...


class Sections:
    """Streams the first lane of `order` and keeps what the others say until it has finished.

    On a terminal accepted drafts are underlined. Without `titles` there is one lane and its text is all that
    appears.
    """

    def __init__(self, order: Sequence[int], titles: Mapping[int, str]) -> None:
        self._waiting = list(order)
        self._titles = titles
        self._kept: dict[int, list[str]] = {lane: [] for lane in order}
        self._finished: set[int] = set()
        self._underline = may_colour(sys.stdout)
        self._open_first()

    def show(self, lane: int, done: Round, metrics: Metrics) -> None:
        self._put(lane, self._painted(done))

    def finish(self, lane: int, tail: str) -> None:
        self._put(lane, printable(tail))
        self._finished.add(lane)
        while self._waiting and self._waiting[0] in self._finished:
            self._waiting.pop(0)
            sys.stdout.write("\n")
            self._open_first()

    def close(self) -> None:
        while self._waiting:
            self.finish(self._waiting[0], "")
        sys.stdout.flush()

    def _open_first(self) -> None:
        if not self._waiting:
            return
        title = self._titles.get(self._waiting[0])
        if title is not None:
            sys.stdout.write(f"── {title} " + "─" * max(0, min(width(), 80) - len(title) - 4) + "\n")
        kept = self._kept[self._waiting[0]]
        sys.stdout.write("".join(kept))
        sys.stdout.flush()
        kept.clear()

    def _put(self, lane: int, text: str) -> None:
        if self._waiting and lane == self._waiting[0]:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            self._kept[lane].append(text)

    def _painted(self, done: Round) -> str:
        drafted = printable("".join(done.pieces[: done.accepted]))
        own = printable("".join(done.pieces[done.accepted :]))
        return f"{UNDERLINED}{drafted}{PLAIN}{own}" if drafted and self._underline else drafted + own


class Columns:
    """Two lanes beside each other at their true relative speed, redrawn in place: the last lines of both.

    At the end the whole answers stand there.
    """

    def __init__(self, titles: Mapping[int, str], height: int) -> None:
        self._titles = titles
        self._height = max(4, height)
        self._texts = dict.fromkeys(titles, "")
        self._metrics = dict.fromkeys(titles, Metrics())
        self._drawn_lines = 0
        self._drawn_at_s = 0.0

    def show(self, lane: int, done: Round, metrics: Metrics) -> None:
        self._texts[lane] += printable(done.text)
        self._metrics[lane] = metrics
        if time.monotonic() - self._drawn_at_s >= _REDRAW_EVERY_S:
            self._draw(self._height)

    def finish(self, lane: int, tail: str) -> None:
        self._texts[lane] += printable(tail)

    def close(self) -> None:
        self._draw(None)

    def _draw(self, height: int | None) -> None:
        column = (width() - len(_GAP)) // 2
        bodies = [wrap(text, column) for text in self._texts.values()]
        n_lines = max(len(body) for body in bodies)
        if height is not None:
            bodies = [body[-height:] for body in bodies]
            n_lines = min(max(n_lines, 1), height)
        rows = [self._row([self._head(lane) for lane in self._texts], column, FAINT)]
        for i in range(n_lines):
            rows.append(self._row([body[i] if i < len(body) else "" for body in bodies], column, ""))
        up = f"\x1b[{self._drawn_lines}F" if self._drawn_lines else ""
        sys.stdout.write(up + "".join(f"\x1b[2K{row}\n" for row in rows) + "\x1b[0J")
        sys.stdout.flush()
        self._drawn_lines = len(rows)
        self._drawn_at_s = time.monotonic()

    def _head(self, lane: int) -> str:
        speed = self._metrics[lane].tokens_per_s
        return self._titles[lane] + (f" · {speed:.1f} tokens/s" if speed is not None else "")

    def _row(self, cells: Sequence[str], column: int, style: str) -> str:
        row = _GAP.join(pad(cell, column) for cell in cells)
        return f"{style}{row}{PLAIN}" if style else row


def race_display(order: Sequence[int], titles: Mapping[int, str], terminal_lines: int) -> Live:
    """Return columns for a wide terminal, sections for everything else."""
    if is_terminal(sys.stdout) and may_colour(sys.stdout) and width() >= 2 * MIN_COLUMN_WIDTH + len(_GAP):
        return Columns(titles, terminal_lines - 4)
    return Sections(order, titles)
