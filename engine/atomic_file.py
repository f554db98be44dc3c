"""Files that appear whole or not at all, whatever ends in between."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from engine.long_path import long_path

FRESH_SUFFIX = ".new"
REPLACE_TRIES = 12
"""A virus scanner may hold a file for seconds after its last byte: 0.05 s doubling to 1 s, about 7 s in all."""


def write_atomically(path: Path, data: bytes) -> None:
    """Write a small file so that a reader, or a power cut, meets the old or the new one, never half of one.

    Raise OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Its own name would make it longer than the path that was found to be short enough.
    fresh = long_path(path.with_name(f".{os.getpid()}-{threading.get_ident()}{FRESH_SUFFIX}"))
    try:
        with fresh.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        replace_patiently(fresh, path)
    except BaseException:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise


def replace_patiently(
    source: Path,
    target: Path,
    *,
    replace: Callable[[Path, Path], None] = os.replace,
    tries: int = REPLACE_TRIES,
) -> None:
    """Rename over `target`; wait and try again while Windows says that another program holds the file.

    Raise OSError when it is still held after `tries`.
    """
    delay_s = 0.05
    for left in reversed(range(tries)):
        try:
            replace(source, target)
            break
        except PermissionError:
            if not left:
                raise
            time.sleep(delay_s)
            delay_s = min(2 * delay_s, 1.0)
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut; Windows has no such call and needs none."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
