"""One llama_batch, allocated once and filled through numpy: a pass makes no Python list and no allocation."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from llama_cpp import llama_cpp as api

SEQUENCE: Final = 0


class TokenBatch:
    """Consecutive tokens of sequence 0.

    `raw` is what llama_decode takes; it points into this object's arrays.
    """

    def __init__(self, capacity: int, n_positions: int) -> None:
        self._tokens = np.zeros(capacity, np.int32)
        self._positions = np.zeros(capacity, np.int32)
        self._wanted = np.zeros(capacity, np.int8)
        self._n_sequences = np.ones(capacity, np.int32)
        self._sequence = np.full(1, SEQUENCE, np.int32)
        self._sequences = np.full(capacity + 1, self._sequence.ctypes.data, np.uintp)
        self._sequences[capacity] = 0
        self._all_positions = np.arange(n_positions, dtype=np.int32)
        self.raw: Any = api.llama_batch(
            0,
            _pointer(self._tokens, ctypes.c_int32),
            None,
            _pointer(self._positions, ctypes.c_int32),
            _pointer(self._n_sequences, ctypes.c_int32),
            _pointer(self._sequences, ctypes.POINTER(ctypes.c_int32)),
            _pointer(self._wanted, ctypes.c_int8),
        )

    def fill_one(self, token: int, position: int, wanted: bool) -> None:
        """Hold one token: what plain decoding does for every token of an answer."""
        self._tokens[0] = token
        self._positions[0] = position
        self._wanted[0] = wanted
        self.raw.n_tokens = 1

    def fill(self, tokens: Sequence[int], first_position: int, n_rows: int) -> None:
        """Hold `tokens` from `first_position` on and want logits of the last `n_rows`."""
        count = len(tokens)
        self._tokens[:count] = tokens
        self._positions[:count] = self._all_positions[first_position : first_position + count]
        self._wanted[: count - n_rows] = 0
        self._wanted[count - n_rows : count] = 1
        self.raw.n_tokens = count


def _pointer(array: np.ndarray[Any, Any], element: Any) -> Any:
    return ctypes.cast(array.ctypes.data, ctypes.POINTER(element))
