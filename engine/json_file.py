"""Small typed JSON files: read with a default for everything that can go wrong, written whole or not at all."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TypeVar

import msgspec

from engine.atomic_file import write_atomically

_log = logging.getLogger(__name__)
_MAX_BYTES = 64 << 20

T = TypeVar("T")
Default = TypeVar("Default")


def read_json(path: Path, kind: type[T], default: Default) -> T | Default:
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
    write_atomically(path, msgspec.json.format(msgspec.json.encode(value), indent=1))
