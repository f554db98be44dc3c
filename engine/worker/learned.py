"""What is learned about a bundle, kept from one run to the next in a small file in the cache folder.

It is kept by what costs depend on: the files, where they are computed, with how many threads and which cache.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from engine.folders import cache_folder
from engine.json_file import read_json, write_json
from engine.llama.devices import list_devices
from engine.speculation.adaptive.controller import AdaptiveController
from engine.speculation.adaptive.learned import Learned
from engine.speculation.adaptive.record import LearnedRecord
from engine.speculation.adaptive.taught import Taught
from engine.speculation.draft_length import FixedLength
from engine.speculation.protocols import DraftPolicy
from engine.speculation.settings import GenerationSettings
from engine.worker.plan import LoadRequest

_MAX_ENTRIES: Final = 64
_SAVE_EVERY_S: Final = 30.0


class LearnedEntry(msgspec.Struct, frozen=True):
    """What is kept of one bundle under `key`."""

    key: str
    learned: LearnedRecord


@dataclass(slots=True)
class Experience:
    """What is learned about one loaded bundle, and the file that it is kept in."""

    path: Path
    key: str
    learned: Learned
    _n_kept: int = 0
    _kept_at_s: float = field(default=-math.inf)

    def policy(self, settings: GenerationSettings) -> DraftPolicy:
        """Return what decides about drafts of one answer: the controller where no length was chosen."""
        temperature = settings.sampling.temperature
        if settings.draft_length is None:
            return AdaptiveController(self.learned, temperature)
        return Taught(FixedLength(settings.draft_length), self.learned, temperature)

    def keep(self, *, at_once: bool = False) -> None:
        """Write what is new, at most every 30 seconds unless `at_once`; a full or read-only disk keeps nothing."""
        is_early = time.monotonic() - self._kept_at_s < _SAVE_EVERY_S
        if self.learned.n_rounds == self._n_kept or (is_early and not at_once):
            return
        others = [entry for entry in _read(self.path) if entry.key != self.key]
        with contextlib.suppress(OSError):
            write_json(
                self.path, (*others[1 - _MAX_ENTRIES :], LearnedEntry(self.key, self.learned.record()))
            )
        self._n_kept, self._kept_at_s = self.learned.n_rounds, time.monotonic()


def learned_path() -> Path:
    """Return where it is kept."""
    return cache_folder() / "learned.json"


def recall(request: LoadRequest, n_threads: int, path: Path | None = None) -> Experience:
    """Return what is known about the bundle of `request`; nothing for a file that is missing, damaged or hostile."""
    path, key = path or learned_path(), _key(request, n_threads)
    record = next((entry.learned for entry in _read(path) if entry.key == key), None)
    return Experience(path, key, Learned(record))


def _read(path: Path) -> tuple[LearnedEntry, ...]:
    return read_json(path, tuple[LearnedEntry, ...], ())


def _key(request: LoadRequest, n_threads: int) -> str:
    devices = ", ".join(device.name for device in list_devices())
    settings, drafter = request.settings, request.drafter
    parts = (
        _file(request.target),
        f"{drafter.kind} {_file(drafter.path)}".strip() if drafter.path else str(drafter.kind),
        f"{devices}, {settings.n_gpu_layers} layers on the GPU, {n_threads} threads, {settings.kv_type} cache",
    )
    return " | ".join(parts)


def _file(path: str) -> str:
    """Return name and size of the file, so that one that was moved is known again."""
    try:
        return f"{Path(path).name} {os.stat(path).st_size}"
    except (OSError, ValueError):
        return Path(path).name
