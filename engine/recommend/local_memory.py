"""What models on this computer would take, estimated from their headers and kept, so that a list needs no file."""

from __future__ import annotations

import logging
from bisect import bisect_right
from pathlib import Path
from typing import Final

import msgspec

from engine.budget.budget import USABLE_N_CTX, KvType, Segment
from engine.budget.estimate import estimate_shape
from engine.budget.shape import Shape, shape_of
from engine.errors import SlipstreamError
from engine.folders import cache_folder
from engine.json_file import read_json, write_json
from engine.models.facts import facts_of
from engine.models.gguf_header import read_header
from engine.models.parts import join_parts, read_parts
from engine.shelf.facts_cache import stamp_of

FILE_NAME: Final = "model-memory.json"
FORMAT: Final = 1
"""To be raised when the estimate changes."""

_CONTEXTS: Final = (256, 512, 2048, USABLE_N_CTX, 32_768, 131_072, 1_048_576)

_log = logging.getLogger(__name__)


class LocalMemory(msgspec.Struct, frozen=True):
    """What one model takes at each of `n_ctx`, without its drafter; between two of them it grows evenly.

    `active_fraction` is the share of the weights that one token reads, `kv_bytes_per_token` holds at a usable context.
    """

    n_ctx: tuple[int, ...]
    total_bytes: tuple[int, ...]
    kv_bytes_per_token: int
    active_fraction: float

    def at(self, n_ctx: int) -> int:
        """Return the bytes taken with a context of `n_ctx` tokens."""
        right = min(max(bisect_right(self.n_ctx, n_ctx), 1), len(self.n_ctx) - 1)
        left = right - 1
        width = self.n_ctx[right] - self.n_ctx[left]
        slope = (self.total_bytes[right] - self.total_bytes[left]) / width
        return round(self.total_bytes[left] + slope * (n_ctx - self.n_ctx[left]))


class _Entry(msgspec.Struct, frozen=True):
    size_bytes: int
    changed_at_ns: int
    memory: LocalMemory


class _Kept(msgspec.Struct, frozen=True):
    format: int = FORMAT
    entries: dict[str, _Entry] = {}


class LocalMemoryCache:
    """Estimates by path, as long as a file's size and time of change stay the same. Not thread-safe.

    `path` None: the one in the user's cache folder. A cache that cannot be read or written costs time only.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or cache_folder() / FILE_NAME
        kept = read_json(self._path, _Kept, _Kept())
        self._known = kept.entries if kept.format == FORMAT else {}
        self._used: dict[str, _Entry] = {}

    def memory(self, path: str) -> LocalMemory | None:
        """Return the estimate for the model at `path`, None where its header cannot be read."""
        try:
            stamp = stamp_of(Path(path))
            entry = self._known.get(path)
            if entry is None or (entry.size_bytes, entry.changed_at_ns) != stamp:
                entry = _Entry(*stamp, _estimate(Path(path)))
        except (SlipstreamError, OSError):
            return None
        self._used[path] = entry
        return entry.memory

    def save(self) -> None:
        """Keep what was asked for; what nobody asked for is forgotten."""
        if self._used == self._known:
            return
        try:
            write_json(self._path, _Kept(entries=self._used))
        except OSError as error:
            _log.warning("Estimates of models cannot be kept: %s", error)


def _estimate(path: Path) -> LocalMemory:
    headers = read_parts(path, read_header(path))
    header = join_parts(headers)
    facts, shape = facts_of(path, header, len(headers)), shape_of(header)
    return LocalMemory(
        n_ctx=_CONTEXTS,
        total_bytes=tuple(_total_bytes(shape, n_ctx) for n_ctx in _CONTEXTS),
        kv_bytes_per_token=estimate_shape(shape, USABLE_N_CTX, KvType.F16).get(Segment.KV, 0) // USABLE_N_CTX,
        # A table of embeddings that is the output too is read whole, and a row of it once more.
        active_fraction=min(facts.active_fraction, 1.0),
    )


def _total_bytes(shape: Shape, n_ctx: int) -> int:
    segments = estimate_shape(shape, n_ctx, KvType.F16)
    return sum(n_bytes for segment, n_bytes in segments.items() if segment is not Segment.RESERVE)
