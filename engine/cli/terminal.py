"""What a terminal can show."""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import TextIO

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

UNDERLINED, FAINT, PLAIN = "\x1b[4m", "\x1b[2m", "\x1b[0m"


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at `stream` through something that understands escape sequences."""
    if sys.platform == "win32" and "WT_SESSION" not in os.environ:
        return False  # the old console prints them
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def may_colour(stream: TextIO) -> bool:
    """Whether colours and the like are welcome (no-color.org)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def printable(text: str) -> str:
    """Return `text` without control characters: a model's answer must not be able to drive the terminal."""
    return _CONTROL.sub("", text)


def write_json(text: str) -> None:
    """Write one line to standard output as UTF-8, whatever the terminal's encoding: a program reads it."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.buffer.flush()


def width() -> int:
    return shutil.get_terminal_size().columns
