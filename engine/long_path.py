"""Paths beyond the length that Windows takes without being asked."""

from __future__ import annotations

import sys
from pathlib import Path

LONG_PATH_CHARS = 240
"""Windows ends at 260 for a file and at 248 for a folder."""


def long_path(path: Path, platform: str = sys.platform) -> Path:
    r"""Return `path` in the form that Windows takes beyond 240 characters, \\?\C:\…; elsewhere unchanged."""
    return Path(long_form(str(path.absolute()))) if platform == "win32" else path


def long_form(absolute: str) -> str:
    r"""Put \\?\ before a long Windows path, or \\?\UNC\ before one on a server."""
    if len(absolute) < LONG_PATH_CHARS or absolute.startswith("\\\\?\\"):
        return absolute
    if absolute.startswith("\\\\"):
        return "\\\\?\\UNC\\" + absolute[2:]
    return "\\\\?\\" + absolute
