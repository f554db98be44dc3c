"""A request's sampling settings as llama.cpp's own samplers, up to but not including the draw."""

from __future__ import annotations

import ctypes
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from llama_cpp import llama_cpp as api
from numpy.typing import NDArray

from engine.errors import DecodeFailed
from engine.llama.library import find_symbol
from engine.llama.vocabulary import Vocabulary
from engine.speculation.protocols import Distribution, Logits
from engine.speculation.settings import SamplingSettings

_CANDIDATE: Final = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
_CHUNK: Final = 256
_MIN_KEEP: Final = 1


class _CandidateArray(ctypes.Structure):
    """llama_token_data_array with plain addresses."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("selected", ctypes.c_int64),
        ("sorted", ctypes.c_bool),
    )


class SamplerChain:
    """A llama.cpp sampler chain and the candidate array that it works on; freed with the last reference."""

    def __init__(self, chain: Any, capacity: int) -> None:
        """Take over `chain`; `capacity` is the most candidates that it is ever applied to."""
        self._chain = chain
        self._candidates = np.zeros(capacity, _CANDIDATE)
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
        return SamplerChain(api.llama_sampler_clone(self._chain), len(self._candidates))


def _no_numbers() -> DecodeFailed:
    return DecodeFailed(
        "The model gives no valid numbers: its file is probably damaged.", remedy="Download the file again."
    )


class ChainSampler:
    """A Sampler (engine/speculation/protocols.py) made of llama.cpp's samplers, in llama.cpp's order.

    Two things are done here because they are exact and save a copy of the whole vocabulary per token:
    penalties are applied to the penalised tokens alone, and with top-k on the chain sees only tokens that can
    be among the top k.
    """

    def __init__(self, vocabulary: Vocabulary, settings: SamplingSettings) -> None:
        self._settings = settings
        self._n_vocab = vocabulary.n_tokens
        self._ids = np.arange(self._n_vocab, dtype=np.int32)
        self._suppressed = np.array(vocabulary.suppressed(), np.int32)
        self._truncation = SamplerChain(_truncation_chain(settings), self._n_vocab)
        self._penalties = _penalty_chain(settings, self._n_vocab) if _penalises(settings) else None
        self._recent: deque[int] = deque(maxlen=settings.penalty_last_n)

    @property
    def is_greedy(self) -> bool:
        return self._settings.is_greedy

    def argmax(self, logits: Logits) -> int:
        adjusted = self._adjusted(logits)
        token = int(adjusted.argmax())
        # argmax finds a NaN before anything else.
        if not adjusted[token] > -np.inf:
            raise _no_numbers()
        return token

    def distribution(self, logits: Logits) -> Distribution:
        """Return the distribution after penalties, top-k, top-p, min-p and temperature.

        With greedy settings it is the point mass on `argmax`.
        """
        logits = self._adjusted(logits)
        if self.is_greedy:
            return Distribution(np.array([logits.argmax()], np.int32), np.ones(1))
        # llama.cpp's samplers sort, and end the process on what cannot be sorted; max finds a NaN.
        if not np.isfinite(logits.max()):
            raise _no_numbers()
        ids = self._possible(logits)
        rest = self._truncation.apply(ids, logits if ids is self._ids else logits[ids])
        kept = rest["logit"].astype(np.float64)
        # temp rescales the logits and leaves p as it was, so the softmax is made anew.
        probs = np.exp(kept - kept.max())
        probs /= probs.sum()
        possible = probs > 0.0
        return Distribution(rest["id"][possible], probs[possible])

    def accept(self, token: int) -> None:
        if self._penalties is not None:
            self._penalties.accept(token)
            self._recent.append(token)

    def fork(self) -> ChainSampler:
        copy = object.__new__(ChainSampler)
        copy.__dict__.update(self.__dict__)
        # Truncation has no state; only what tokens change has to be independent.
        copy._penalties = self._penalties.clone() if self._penalties is not None else None
        copy._recent = self._recent.copy()
        return copy

    def _adjusted(self, logits: Logits) -> Logits:
        """Return `logits` with suppressed tokens at minus infinity and penalties applied.

        A copy if anything changes.
        """
        if not self._suppressed.size and not self._recent:
            return logits
        adjusted = logits.copy()
        if self._suppressed.size:
            adjusted[self._suppressed] = -np.inf
        if self._penalties is not None and self._recent:
            ids = np.unique(np.fromiter(self._recent, np.int32, len(self._recent)))
            penalised = self._penalties.apply(ids, adjusted[ids])
            adjusted[penalised["id"]] = penalised["logit"]
        return adjusted

    def _possible(self, logits: Logits) -> NDArray[np.int32]:
        """Return the ids that can be among the top k, all of them where that cannot be told cheaply.

        The k-th largest maximum over chunks is a bound: k tokens at least are not below it.
        """
        k = self._settings.top_k
        n_chunks = self._n_vocab // _CHUNK
        if not 0 < k <= n_chunks:
            return self._ids
        maxima = logits[: n_chunks * _CHUNK].reshape(n_chunks, _CHUNK).max(axis=1)
        bound = np.partition(maxima, n_chunks - k)[n_chunks - k]
        return np.flatnonzero(logits >= bound).astype(np.int32)


def _penalises(settings: SamplingSettings) -> bool:
    return settings.has_penalties and settings.penalty_last_n > 0


def _penalty_chain(settings: SamplingSettings, n_vocab: int) -> SamplerChain:
    sampler = api.llama_sampler_init_penalties(
        n_vocab,
        settings.penalty_last_n,
        settings.repeat_penalty,
        settings.frequency_penalty,
        settings.presence_penalty,
    )
    return SamplerChain(sampler, min(settings.penalty_last_n, n_vocab))


def _truncation_chain(settings: SamplingSettings) -> Any:
    """Return top-k, top-p, min-p, temperature, in the order of common/common.h; no draw at the end."""
    chain = api.llama_sampler_chain_init(api.llama_sampler_chain_default_params())
    if settings.top_k > 0:
        api.llama_sampler_chain_add(chain, api.llama_sampler_init_top_k(settings.top_k))
    if settings.top_p < 1.0:
        api.llama_sampler_chain_add(chain, api.llama_sampler_init_top_p(settings.top_p, _MIN_KEEP))
    if settings.min_p > 0.0:
        api.llama_sampler_chain_add(chain, api.llama_sampler_init_min_p(settings.min_p, _MIN_KEEP))
    if not settings.is_greedy:
        api.llama_sampler_chain_add(chain, api.llama_sampler_init_temp(settings.temperature))
    return chain


def _apply_function() -> Callable[..., Any]:
    function = find_symbol("llama_sampler_apply", None, ctypes.c_void_p, ctypes.c_void_p)
    assert function is not None, "llama_sampler_apply is part of llama.cpp's public interface"
    return function
