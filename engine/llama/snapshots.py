"""Running states set aside, so that a model whose memory is one state can go back without starting over."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from llama_cpp import llama_cpp as api

from engine.llama.batch import SEQUENCE

# Only the running state. The attention layers of a hybrid model keep their cells, which can be cut at any place.
_FLAGS: Final = api.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY


class Moment(Enum):
    """When a state was set aside: at the end of a prompt, and before a pass over a draft."""

    PROMPT_END = auto()
    BEFORE_DRAFT = auto()


@dataclass(slots=True)
class _Snapshot:
    n_tokens: int
    buffer: Any
    n_bytes: int


class Snapshots:
    """The states of one context at a few moments, in main memory. Memory: the running state, once per moment."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._kept: dict[Moment, _Snapshot] = {}

    @property
    def n_bytes(self) -> int:
        return sum(len(snapshot.buffer) for snapshot in self._kept.values())

    def take(self, moment: Moment, n_tokens: int) -> None:
        """Set the state aside, which `n_tokens` tokens led to, in place of the last one of this moment."""
        size = api.llama_state_seq_get_size_ext(self._context, SEQUENCE, _FLAGS)
        before = self._kept.pop(moment, None)
        buffer = (
            before.buffer if before is not None and len(before.buffer) >= size else (ctypes.c_uint8 * size)()
        )
        written = api.llama_state_seq_get_data_ext(self._context, buffer, size, SEQUENCE, _FLAGS)
        if written:
            self._kept[moment] = _Snapshot(n_tokens, buffer, written)

    def restore(self, n_tokens: int) -> int:
        """Go back to the latest state of at most `n_tokens` tokens and return how many it had; 0 if there is none.

        The attention cells after it are left for the caller to remove. States of more tokens are forgotten.
        """
        self.forget_after(n_tokens)
        latest = max(self._kept.values(), key=lambda snapshot: snapshot.n_tokens, default=None)
        if latest is None:
            return 0
        read = api.llama_state_seq_set_data_ext(
            self._context, latest.buffer, latest.n_bytes, SEQUENCE, _FLAGS
        )
        return latest.n_tokens if read else 0

    def forget_after(self, n_tokens: int) -> None:
        """Forget states of more than `n_tokens` tokens: other ones follow those now."""
        for moment in [m for m, snapshot in self._kept.items() if snapshot.n_tokens > n_tokens]:
            del self._kept[moment]

    def forget(self) -> None:
        self._kept.clear()
