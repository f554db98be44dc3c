"""llama.cpp's log: kept in a bounded buffer, so that a failure can tell what llama.cpp said about it."""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from llama_cpp import llama_cpp as api

MAX_LINES: Final = 2000
MAX_LINE_LENGTH: Final = 2000

# enum ggml_log_level (ggml/include/ggml.h); 5 continues the line before.
_LEVELS: Final = {0: "info", 1: "debug", 2: "info", 3: "warning", 4: "error"}
_CONTINUES: Final = 5


@dataclass(frozen=True, slots=True)
class LlamaLogLine:
    """One line.

    `number` counts all lines since the start, `level` is "debug", "info", "warning" or "error".
    """

    number: int
    level: str
    text: str

    @property
    def is_trouble(self) -> bool:
        return self.level in ("warning", "error")


class LlamaLog:
    """Receives llama.cpp's log from any of its threads. One per process: llama.cpp has one callback."""

    def __init__(self, on_trouble: Callable[[str, str], None] | None = None) -> None:
        """`on_trouble(level, text)` gets warnings and errors as they come, on llama.cpp's thread."""
        self._lines: deque[LlamaLogLine] = deque(maxlen=MAX_LINES)
        self._lock = threading.Lock()
        self._on_trouble = on_trouble
        self._count = 0
        self._pending = ""
        self._pending_level = "info"
        # llama.cpp keeps only the pointer: the callback object has to live as long as the process.
        self._callback: Any = api.llama_log_callback(self._receive)

    def install(self) -> None:
        api.llama_log_set(self._callback, ctypes.c_void_p(0))

    def _receive(self, level: int, text: bytes, _: object) -> None:
        with self._lock:
            if level != _CONTINUES:
                self._pending_level = _LEVELS.get(level, "info")
            self._pending += text.decode("utf-8", errors="replace")
            *whole, rest = self._pending.split("\n")
            self._pending = rest[:MAX_LINE_LENGTH]
            # Progress dots and blank lines say nothing.
            kept = [self._keep(text[:MAX_LINE_LENGTH]) for text in whole if text.strip(" .")]
        if self._on_trouble is not None:
            for line in kept:
                if line.is_trouble:
                    self._on_trouble(line.level, line.text)

    def _keep(self, text: str) -> LlamaLogLine:
        line = LlamaLogLine(self._count, self._pending_level, text)
        self._count += 1
        self._lines.append(line)
        return line

    @property
    def position(self) -> int:
        """Return a mark for `since`."""
        return self._count

    def since(self, position: int) -> tuple[LlamaLogLine, ...]:
        with self._lock:
            return tuple(line for line in self._lines if line.number >= position)

    @contextmanager
    def recording(self) -> Iterator[LogRecord]:
        """Give what is logged between entry and the time of asking."""
        yield LogRecord(self, self.position)


@dataclass(frozen=True, slots=True)
class LogRecord:
    """The lines of `log` from `position` on."""

    log: LlamaLog
    position: int

    @property
    def lines(self) -> tuple[LlamaLogLine, ...]:
        return self.log.since(self.position)

    @property
    def trouble(self) -> str:
        """Return the warnings and errors, one a line; where there are none, the last few lines."""
        lines = self.lines
        chosen = [line.text for line in lines if line.is_trouble] or [line.text for line in lines[-5:]]
        return "\n".join(chosen)

    def find(self, fragment: str) -> str:
        """Return the last line that contains `fragment`, "" if none does."""
        return next((line.text for line in reversed(self.lines) if fragment in line.text), "")
