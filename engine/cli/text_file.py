"""Text that an option names by its file."""

from __future__ import annotations

import sys
from pathlib import Path

from engine.errors import FileGone, SlipstreamError


def read_text(path: str, what: str) -> str:
    """Return the text of the file `path`, "-" for standard input; `what` it is ("prompt") is for sentences.

    Raises FileGone and, for what is not text, SlipstreamError.
    """
    name = "standard input" if path == "-" else f"“{path}”"
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise FileGone(
            f"The {what} file {name} cannot be read: {getattr(error, 'strerror', None) or error}.",
            remedy="Check its name.",
            detail=str(error),
        ) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SlipstreamError(
            f"The {what} in {name} is not valid UTF-8: byte {error.start} is 0x{data[error.start]:02x}.",
            remedy="Save it as UTF-8.",
        ) from error
