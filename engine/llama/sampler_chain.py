"""One of llama.cpp's samplers, or a chain of them, applied to candidates that Python chooses."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from llama_cpp import llama_cpp as api
from numpy.typing import NDArray

from engine.llama.library import find_symbol

_CANDIDATE: Final = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class _CandidateArray(ctypes.Structure):
    """llama_token_data_array with plain addresses."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("selected", ctypes.c_int64),
        ("sorted", ctypes.c_bool),
    )


class SamplerChain:
    """A llama.cpp sampler and the candidate array that it works on; freed with the last reference."""

    def __init__(self, chain: Any, candidates: int | NDArray[Any]) -> None:
        """Take over `chain`; `candidates` is the most that it is ever applied to, or an array to do that in."""
        self._chain = chain
        self._candidates = np.zeros(candidates, _CANDIDATE) if isinstance(candidates, int) else candidates
        self._address: int = self._candidates.ctypes.data
        self._array = _CandidateArray(self._address, 0, -1, False)
        self._apply = _apply_function()
        self._free = weakref.finalize(self, api.llama_sampler_free, chain)

    def apply(self, ids: NDArray[np.int32], logits: NDArray[np.float32]) -> NDArray[Any]:
        """Return the candidates (fields id, logit, p) that remain of `ids`.

        A view that the next call overwrites.
        """
        count = len(ids)
        candidates = self._candidates
        candidates["id"][:count] = ids
        candidates["logit"][:count] = logits
        array = self._array
        array.data, array.size, array.selected, array.sorted = self._address, count, -1, False
        self._apply(self._chain, ctypes.byref(array))
        if array.data == self._address:
            return candidates[: array.size]
        # A sampler may point the array at memory of its own.
        moved = (ctypes.c_char * (array.size * _CANDIDATE.itemsize)).from_address(array.data)
        return np.frombuffer(moved, _CANDIDATE)

    def accept(self, token: int) -> None:
        api.llama_sampler_accept(self._chain, token)

    def clone(self) -> SamplerChain:
        """Return a copy of the sampler's state; the candidate array is shared, so only one is applied at a time."""
        return SamplerChain(api.llama_sampler_clone(self._chain), self._candidates)


def _apply_function() -> Callable[..., Any]:
    function = find_symbol("llama_sampler_apply", None, ctypes.c_void_p, ctypes.c_void_p)
    assert function is not None, "llama_sampler_apply is part of llama.cpp's public interface"
    return function
