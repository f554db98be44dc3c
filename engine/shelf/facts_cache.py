"""Facts of model files, kept over restarts: a file that has not changed is not opened again."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

import msgspec

from engine.errors import FileGone, NotAModelFile, SlipstreamError
from engine.json_file import read_json, write_json
from engine.models.facts import ModelFacts, read_facts
from engine.models.parts import part_names

FORMAT: Final = 1
"""To be raised when facts are read differently, so that old ones are not taken for new."""

_log = logging.getLogger(__name__)


class _Entry(msgspec.Struct, frozen=True):
    """What was read of a file of that size and time; `facts` None: nothing, for the reason in `sentence`."""

    size_bytes: int
    changed_at_ns: int
    facts: ModelFacts | None = None
    sentence: str = ""
    remedy: str = ""


class _Kept(msgspec.Struct, frozen=True):
    format: int = FORMAT
    entries: dict[str, _Entry] = {}


class FactsCache:
    """Facts by path, as long as size and time of change stay the same. Not thread-safe.

    `path` None: nothing is kept. A cache that cannot be read or written costs time, not facts.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        kept = read_json(path, _Kept, _Kept()) if path is not None else _Kept()
        self._known = kept.entries if kept.format == FORMAT else {}
        self._used: dict[str, _Entry] = {}

    def facts(self, path: Path) -> ModelFacts:
        """Return the facts of the model whose first or only file is at `path`.

        Raises FileGone and NotAModelFile, for an unchanged damaged file without reading it again.
        """
        size_bytes, changed_at_ns = stamp_of(path)
        entry = self._used.get(str(path)) or self._known.get(str(path))
        if entry is None or (entry.size_bytes, entry.changed_at_ns) != (size_bytes, changed_at_ns):
            entry = _read(path, size_bytes, changed_at_ns)
        self._used[str(path)] = entry
        if entry.facts is None:
            raise NotAModelFile(entry.sentence, remedy=entry.remedy)
        return entry.facts

    def save(self) -> None:
        """Keep what was asked for; files that nobody asked for are forgotten."""
        if self._path is None or self._used == self._known:
            return
        try:
            write_json(self._path, _Kept(entries=self._used))
            self._known = dict(self._used)
        except (OSError, ValueError) as error:
            _log.warning("Facts of models cannot be kept: %s", error)


def stamp_of(path: Path) -> tuple[int, int]:
    """Return size and time of change over all parts of a model; raises FileGone."""
    size_bytes = changed_at_ns = 0
    for name in part_names(path.name):
        part = path if name == path.name else path.with_name(name)
        try:
            status = os.stat(part)
        except (OSError, ValueError) as error:
            raise FileGone(f"The file “{name}” cannot be opened.", detail=f"{part}: {error}") from error
        size_bytes += status.st_size
        changed_at_ns = max(changed_at_ns, status.st_mtime_ns)
    return size_bytes, changed_at_ns


def _read(path: Path, size_bytes: int, changed_at_ns: int) -> _Entry:
    try:
        return _Entry(size_bytes, changed_at_ns, read_facts(path))
    except NotAModelFile as error:
        return _Entry(size_bytes, changed_at_ns, None, error.sentence, error.remedy)
    except SlipstreamError:
        raise
    except Exception as error:
        # One odd file must not keep a person from all the others.
        raise FileGone(f"The file “{path.name}” cannot be read.", detail=f"{path}: {error!r}") from error
