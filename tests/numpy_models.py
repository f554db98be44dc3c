"""A language model small enough to know its distribution exactly: a Markov chain behind the protocols of
the engine.

It obeys `CausalModel` strictly and asserts on every misuse that llama.cpp would answer with an abort.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.errors import Cancelled
from engine.speculation.protocols import Distribution, Draft, Gate, Logits
from engine.speculation.round import DraftSource
from engine.speculation.settings import SamplingSettings


def markov_table(n_vocab: int, seed: int, sharpness: float, order: int = 1) -> Logits:
    """Return logits of shape (n_vocab,) * order + (n_vocab,): the larger `sharpness`, the surer the model."""
    rng = np.random.default_rng(seed)
    return (sharpness * rng.standard_normal((n_vocab,) * (order + 1))).astype(np.float32)


@dataclass
class NumpyModel:
    """A Markov chain of order `table.ndim - 1` that counts what it evaluates. Missing context counts as
    token 0."""

    table: Logits
    n_ctx: int = 4096
    n_batch: int = 32
    max_rows: int = 17
    end_tokens: frozenset[int] = frozenset()
    n_evaluated: int = 0
    n_passes: int = 0
    cancel_at_pass: int | None = None
    on_pass: Callable[[], None] = lambda: None
    _cached: list[int] = field(default_factory=list)
    _rows: list[Logits] = field(default_factory=list)
    _row_of: dict[tuple[int, ...], Logits] = field(init=False)
    _order: int = field(init=False)

    def __post_init__(self) -> None:
        self._order = self.table.ndim - 1
        # Each row is one object for good: the sampler below remembers its distribution.
        self._row_of = {at: self.table[at] for at in np.ndindex(self.table.shape[:-1])}

    @property
    def n_vocab(self) -> int:
        return int(self.table.shape[-1])

    @property
    def cached(self) -> Sequence[int]:
        return self._cached

    def rewind(self, n_tokens: int) -> None:
        assert 0 <= n_tokens <= len(self._cached), "rewind to what was never evaluated"
        del self._cached[n_tokens:]

    def extend(self, tokens: Sequence[int], n_rows: int) -> None:
        assert 0 < len(tokens) <= self.n_batch, "more tokens than a batch holds"
        assert 0 <= n_rows <= min(self.max_rows, len(tokens)), "more rows than were reserved"
        assert len(self._cached) + len(tokens) <= self.n_ctx, "more tokens than the context holds"
        assert all(0 <= token < self.n_vocab for token in tokens), "a token that the model does not have"
        self.n_passes += 1
        if self.cancel_at_pass == self.n_passes:
            raise Cancelled("Stopped.")
        self.on_pass()
        self._cached.extend(tokens)
        self.n_evaluated += len(tokens)
        ends = range(len(self._cached) - n_rows + 1, len(self._cached) + 1)
        self._rows = [self.row_after(self._cached[max(0, end - self._order) : end]) for end in ends]

    def logits(self, row: int) -> Logits:
        assert 0 <= row < len(self._rows), "a row that was not asked for"
        return self._rows[row]

    def is_end_of_answer(self, token: int) -> bool:
        return token in self.end_tokens

    def row_after(self, tokens: Sequence[int]) -> Logits:
        """Return the logits after `tokens`, for a test that knows better than the engine."""
        context = tuple(tokens[-self._order :])
        return self._row_of[(0,) * (self._order - len(context)) + context]


@dataclass
class NumpySampler:
    """Sampling settings with llama.cpp's semantics: penalties, top-k, top-p, min-p, temperature."""

    settings: SamplingSettings
    _recent: deque[int] = field(default_factory=deque)
    _memory: dict[int, tuple[Logits, Distribution]] = field(default_factory=dict)

    @property
    def is_greedy(self) -> bool:
        return self.settings.is_greedy

    def argmax(self, logits: Logits) -> int:
        return int(np.argmax(self._penalised(logits)))

    def distribution(self, logits: Logits) -> Distribution:
        if self.settings.has_penalties:
            return self._distribution(logits)
        # Without penalties a row has one distribution; the row is kept so that its id stays its own.
        if id(logits) not in self._memory:
            self._memory[id(logits)] = (logits, self._distribution(logits))
        return self._memory[id(logits)][1]

    def begin(self, prompt: Sequence[int]) -> None:
        for token in prompt:
            self.accept(token)

    def accept(self, token: int) -> None:
        if self.settings.has_penalties:
            self._recent.append(token)
            if len(self._recent) > self.settings.penalty_last_n:
                self._recent.popleft()

    def fork(self) -> NumpySampler:
        return NumpySampler(self.settings, self._recent.copy(), self._memory)

    def _penalised(self, logits: Logits) -> NDArray[np.float64]:
        s, values = self.settings, logits.astype(np.float64)
        for token in set(self._recent):
            count = self._recent.count(token)
            values[token] *= s.repeat_penalty if values[token] <= 0 else 1 / s.repeat_penalty
            values[token] -= count * s.frequency_penalty + s.presence_penalty
        return values

    def _distribution(self, logits: Logits) -> Distribution:
        s, values = self.settings, self._penalised(logits)
        ids = np.argsort(-values, kind="stable")
        ids = ids[: s.top_k] if s.top_k > 0 else ids
        cumulative = np.cumsum(_softmax(values[ids]))
        ids = ids[: int(np.searchsorted(cumulative, s.top_p)) + 1] if s.top_p < 1 else ids
        if s.min_p > 0:
            ids = ids[values[ids] >= values[ids[0]] + np.log(s.min_p)]
        return Distribution(ids.astype(np.int32), _softmax(values[ids] / s.temperature))


def _softmax(values: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(values - values.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)


@dataclass
class LetterText:
    """A text stream in which token i is the i-th letter; holds back what may be the start of a stop
    string."""

    stop: tuple[str, ...] = ()
    stopped: bool = False
    _held: str = ""

    def push(self, token: int) -> str:
        self._held += chr(ord("a") + token)
        found = [at for at in (self._held.find(stop) for stop in self.stop) if at >= 0]
        if found:
            self.stopped = True
            visible, self._held = self._held[: min(found)], ""
            return visible
        beginnings = (stop[:n] for stop in self.stop for n in range(len(stop)))
        n_visible = len(self._held) - max((len(b) for b in beginnings if self._held.endswith(b)), default=0)
        visible, self._held = self._held[:n_visible], self._held[n_visible:]
        return visible

    def flush(self) -> str:
        held, self._held = self._held, ""
        return held


@dataclass
class ScriptedDrafter:
    """Proposes what `propose(history, n_max)` returns, as point masses; remembers what it was told."""

    propose: Callable[[Sequence[int], int], Sequence[int]]
    observed: list[tuple[tuple[int, ...], int]] = field(default_factory=list)

    @property
    def source(self) -> DraftSource:
        return DraftSource.NGRAM

    def begin(self, prompt: Sequence[int]) -> int:
        self.observed.clear()
        return len(prompt)

    def observe(self, tokens: Sequence[int], first_position: int) -> None:
        self.observed.append((tuple(tokens), first_position))

    def draft(
        self, history: Sequence[int], n_max: int, sampler: object, rng: np.random.Generator, gate: Gate
    ) -> Draft:
        return Draft(tuple(self.propose(history, n_max)), self.source)


@dataclass
class SamplingDrafter:
    """Proposes tokens sampled from a Markov chain `table` of order 1 after the request's settings, and
    keeps q.

    What a draft model does, but quick enough for a hundred thousand samples.
    """

    table: Logits
    settings: SamplingSettings
    claimed: Logits | None = None
    """What q is said to be, if not `table`: for a drafter that lies."""
    _steps: list[tuple[Distribution, list[int], list[float]]] = field(init=False)

    def __post_init__(self) -> None:
        sampler = NumpySampler(self.settings)
        each = [sampler.distribution(row) for row in self.table]
        told = each if self.claimed is None else [sampler.distribution(row) for row in self.claimed]
        self._steps = [
            (t, q.ids.tolist(), q.probs.cumsum().tolist()) for t, q in zip(told, each, strict=True)
        ]

    @property
    def source(self) -> DraftSource:
        return DraftSource.DRAFT_MODEL

    def begin(self, prompt: Sequence[int]) -> int:
        return len(prompt)

    def observe(self, tokens: Sequence[int], first_position: int) -> None:
        """Nothing to read."""

    def draft(
        self, history: Sequence[int], n_max: int, sampler: object, rng: np.random.Generator, gate: Gate
    ) -> Draft:
        tokens: list[int] = []
        distributions: list[Distribution] = []
        last = history[-1]
        for u in rng.random(n_max).tolist():
            q, ids, cumulative = self._steps[last]
            last = ids[min(bisect_right(cumulative, u), len(ids) - 1)]
            tokens.append(last)
            distributions.append(q)
        return Draft(tuple(tokens), self.source, tuple(distributions))


def freely(i: int, confidence: float) -> bool:
    """A gate that always lets through."""
    return True
