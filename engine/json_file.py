"""Small typed JSON files: read with a default for everything that can go wrong, written whole or not at all."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
from pathlib import Path
from typing import TypeVar

import msgspec

_log = logging.getLogger(__name__)
_MAX_BYTES = 64 << 20

T = TypeVar("T")


def read_json(path: Path, kind: type[T], default: T) -> T:
    """Return what is in the file at `path`; `default` where it is missing, unreadable or not a `kind`."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError("too long")
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return default
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        _log.warning("%s is left aside: %s", path, error)
        return default


def write_json(path: Path, value: object) -> None:
    """Write `value` in place of the file at `path`, which holds the old or the new one whatever happens.

    Raises OSError where nothing can be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(value), indent=1))
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
