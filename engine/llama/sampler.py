"""A request's sampling settings as llama.cpp's own samplers, up to but not including the draw."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from llama_cpp import llama_cpp as api
from numpy.typing import NDArray

from engine.errors import DecodeFailed
from engine.llama.grammar import Grammar
from engine.llama.sampler_chain import SamplerChain
from engine.llama.vocabulary import Vocabulary
from engine.speculation.protocols import Distribution, Logits
from engine.speculation.settings import SamplingSettings

_CHUNK: Final = 256
_N_TRIED: Final = 256
"""How many of the most likely tokens a grammar is asked about before it is asked about all."""
_MIN_KEEP: Final = 1


def _no_numbers() -> DecodeFailed:
    return DecodeFailed(
        "The model gives no valid numbers: its file is probably damaged.", remedy="Download the file again."
    )


def _no_token() -> DecodeFailed:
    return DecodeFailed(
        "The grammar allows nothing that this model could say next.",
        remedy="Change the grammar, or choose another model.",
    )


class ChainSampler:
    """A Sampler (engine/speculation/protocols.py) made of llama.cpp's samplers, in llama.cpp's order.

    Two things are done here because they are exact and save a copy of the whole vocabulary per token:
    penalties are applied to the penalised tokens alone, and with top-k on the chain sees only tokens that can
    be among the top k.

    A grammar comes after the penalties and before truncation: the answer's distribution is the model's own over what
    the grammar allows. It is asked about few tokens where these decide.
    """

    def __init__(self, vocabulary: Vocabulary, settings: SamplingSettings, grammar: str = "") -> None:
        """Raises BadOption for a `grammar` (GBNF; "" for none) that cannot be read."""
        self._settings = settings
        self._n_vocab = vocabulary.n_tokens
        self._ids = np.arange(self._n_vocab, dtype=np.int32)
        self._suppressed = np.array(vocabulary.suppressed(), np.int32)
        self._truncation = SamplerChain(_truncation_chain(settings), self._n_vocab)
        self._penalties = _penalty_chain(settings, self._n_vocab) if _penalises(settings) else None
        self._recent: deque[int] = deque(maxlen=settings.penalty_last_n)
        self._grammar = Grammar(vocabulary, grammar) if grammar else None

    @property
    def is_greedy(self) -> bool:
        return self._settings.is_greedy

    def argmax(self, logits: Logits) -> int:
        adjusted = self._adjusted(logits)
        token = int(adjusted.argmax())
        # argmax finds a NaN before anything else.
        if not adjusted[token] > -np.inf:
            raise _no_numbers()
        if self._grammar is None or self._grammar.allowed(np.array([token], np.int32))[0]:
            return token
        ids = self._allowed(adjusted, 1)
        return int(ids[adjusted[ids].argmax()])

    def distribution(self, logits: Logits) -> Distribution:
        """Return the distribution after penalties, top-k, top-p, min-p and temperature.

        With greedy settings it is the point mass on `argmax`.
        """
        if self.is_greedy:
            return Distribution(np.array([self.argmax(logits)], np.int32), np.ones(1))
        logits = self._adjusted(logits)
        # llama.cpp's samplers sort, and end the process on what cannot be sorted; max finds a NaN.
        if not np.isfinite(logits.max()):
            raise _no_numbers()
        ids = self._possible(logits) if self._grammar is None else self._allowed(logits, self._settings.top_k)
        rest = self._truncation.apply(ids, logits if ids is self._ids else logits[ids])
        kept = rest["logit"].astype(np.float64)
        # temp rescales the logits and leaves p as it was, so the softmax is made anew.
        probs = np.exp(kept - kept.max())
        probs /= probs.sum()
        possible = probs > 0.0
        return Distribution(rest["id"][possible], probs[possible])

    def begin(self, prompt: Sequence[int]) -> None:
        if self._settings.penalty_last_n > 0:
            for token in prompt[-self._settings.penalty_last_n :]:
                self._penalise(token)

    def accept(self, token: int) -> None:
        self._penalise(token)
        if self._grammar is not None:
            self._grammar.accept(token)

    def _penalise(self, token: int) -> None:
        if self._penalties is not None:
            self._penalties.accept(token)
            self._recent.append(token)

    def fork(self) -> ChainSampler:
        copy = object.__new__(ChainSampler)
        copy.__dict__.update(self.__dict__)
        # Truncation has no state; only what tokens change has to be independent.
        copy._penalties = self._penalties.clone() if self._penalties is not None else None
        copy._recent = self._recent.copy()
        copy._grammar = self._grammar.fork() if self._grammar is not None else None
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

    def _allowed(self, logits: Logits, n_needed: int) -> NDArray[np.int32]:
        """Return ids that the grammar allows, among them its `n_needed` most likely ones; all for 0."""
        assert self._grammar is not None, "there is a grammar"
        n_tried = max(_N_TRIED, 2 * n_needed)
        if n_needed > 0 and n_tried < self._n_vocab:
            likely = np.argpartition(logits, -n_tried)[-n_tried:].astype(np.int32)
            likely = likely[self._grammar.allowed(likely)]
            likely = likely[logits[likely] > -np.inf]
            if len(likely) >= n_needed:
                return likely
        ids = self._grammar.allowed_tokens()
        ids = ids[logits[ids] > -np.inf]
        if not ids.size:
            raise _no_token()
        return ids

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
