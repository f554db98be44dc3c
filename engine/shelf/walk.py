"""Looking for GGUF files below a folder, however deep, looped or huge it is."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

MAX_DEPTH: Final = 10
MAX_FOLDERS: Final = 4_000
MAX_FILES: Final = 4_000


def gguf_files(folder: Path) -> tuple[Path, ...]:
    """Return the GGUF files at and below `folder`: see `files_below`."""
    return files_below(folder, lambda path: path.suffix.lower() == ".gguf")


def files_below(folder: Path, is_wanted: Callable[[Path], bool]) -> tuple[Path, ...]:
    """Return the wanted files at and below `folder`, sorted, at most MAX_FILES.

    Folders that cannot be read count as empty, hidden ones are left out, and each is entered once, so that links which
    loop come to an end. Names that are not valid Unicode are left out: they cannot be handed to the worker.
    """
    found: list[Path] = []
    seen: set[tuple[int, int]] = set()
    waiting = deque([(folder, 0)])
    while waiting and len(seen) < MAX_FOLDERS and len(found) < MAX_FILES:
        current, depth = waiting.popleft()
        if not _is_new(current, seen):
            continue
        for path, is_folder in _entries(current):
            if is_folder and depth < MAX_DEPTH:
                waiting.append((path, depth + 1))
            elif not is_folder and is_wanted(path):
                found.append(path)
    return tuple(sorted(found[:MAX_FILES]))


def is_encodable(text: str) -> bool:
    """Whether `text` is valid Unicode; file names and arguments may hold lone surrogates for other bytes."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_new(folder: Path, seen: set[tuple[int, int]]) -> bool:
    try:
        status = os.stat(folder)
    except (OSError, ValueError):
        return False
    identity = (status.st_dev, status.st_ino)
    if identity in seen:
        return False
    seen.add(identity)
    return True


def _entries(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Yield each visible entry and whether it is a folder; a link that leads nowhere is none."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.startswith(".") and is_encodable(entry.name):
                    yield Path(entry.path), _is_folder(entry)
    except (OSError, ValueError):
        return


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
