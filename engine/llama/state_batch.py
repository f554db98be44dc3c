"""A llama_batch whose tokens come with hidden states, or hidden states alone: what MTP heads, EAGLE-3 and DFlash read.

llama.cpp's own llama_batch_init allocates tokens or states, never both; its compatibility layer reads both where both
pointers are set (src/llama-batch.cpp). It does not check the width of a row: a wrong one is read beyond its end.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from llama_cpp import llama_cpp as api
from numpy.typing import NDArray

from engine.llama.batch import SEQUENCE

_FLOATS: Final = ctypes.POINTER(ctypes.c_float)
_TOKENS: Final = ctypes.POINTER(ctypes.c_int32)


class StateBatch:
    """At most `capacity` rows of sequence 0, each with a state of `width` numbers.

    `raw` is what llama_decode and llama_encode take; it points into this object's arrays. `n_positions_per_row` is 4
    for a model with M-RoPE that gets states alone (llama.cpp then expects four blocks of positions), else 1.
    """

    def __init__(self, capacity: int, width: int, n_positions_per_row: int = 1) -> None:
        self.capacity, self.width = capacity, width
        self._n_positions_per_row = n_positions_per_row
        self._tokens = np.zeros(capacity, np.int32)
        self._states = np.zeros((capacity, width), np.float32)
        self._positions = np.zeros(capacity * n_positions_per_row, np.int32)
        self._wanted = np.zeros(capacity, np.int8)
        self._n_sequences = np.ones(capacity, np.int32)
        self._sequence = np.full(1, SEQUENCE, np.int32)
        self._sequences = np.full(capacity + 1, self._sequence.ctypes.data, np.uintp)
        self._sequences[capacity] = 0
        self._token_pointer = ctypes.cast(self._tokens.ctypes.data, _TOKENS)
        self._state_pointer = ctypes.cast(self._states.ctypes.data, _FLOATS)
        self.raw: Any = api.llama_batch(
            0,
            self._token_pointer,
            self._state_pointer,
            ctypes.cast(self._positions.ctypes.data, ctypes.POINTER(ctypes.c_int32)),
            ctypes.cast(self._n_sequences.ctypes.data, ctypes.POINTER(ctypes.c_int32)),
            ctypes.cast(self._sequences.ctypes.data, ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
            ctypes.cast(self._wanted.ctypes.data, ctypes.POINTER(ctypes.c_int8)),
        )

    def fill(
        self,
        positions: Sequence[int] | NDArray[np.int32],
        *,
        tokens: Sequence[int] | None = None,
        states: NDArray[np.float32] | None = None,
        n_wanted: int = 0,
    ) -> None:
        """Hold one row per position, with tokens, states (shape (n, width)) or both; want the last `n_wanted`."""
        count = len(positions)
        if tokens is not None:
            self._tokens[:count] = tokens
        if states is not None:
            self._states[:count] = states
        self._fill_positions(positions, count)
        self._wanted[: count - n_wanted] = 0
        self._wanted[count - n_wanted : count] = 1
        self.raw.token = self._token_pointer if tokens is not None else None
        self.raw.embd = self._state_pointer if states is not None else None
        self.raw.n_tokens = count

    def _fill_positions(self, positions: Sequence[int] | NDArray[np.int32], count: int) -> None:
        self._positions[:count] = positions
        if self._n_positions_per_row > 1:
            # Time, height and width count alike in text; the fourth is unused (src/llama-graph.cpp).
            self._positions[count : 2 * count] = positions
            self._positions[2 * count : 3 * count] = positions
            self._positions[3 * count : 4 * count] = 0
