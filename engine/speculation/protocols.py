"""The few things that the decoding loop needs of a model, a drafter, a sampler and a text stream.

The loop knows nothing else, so a test can run it on a tiny numpy model and prove its distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.speculation.round import DraftSource, Skip

Logits = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Distribution:
    """A truncated, normalised distribution: `probs[i]` is the probability of token `ids[i]`; every other token has 0.

    `ids` int32 and `probs` float64 of one length, in no particular order, no id twice.
    """

    ids: NDArray[np.int32]
    probs: NDArray[np.float64]


class CausalModel(Protocol):
    """A model with one cached sequence of tokens: the target, or the draft model behind a drafter."""

    @property
    def n_vocab(self) -> int: ...

    @property
    def n_ctx(self) -> int:
        """Most tokens that the cache holds."""

    @property
    def n_batch(self) -> int:
        """Most tokens of one pass."""

    @property
    def max_rows(self) -> int:
        """Most rows of logits that one pass may ask for."""

    @property
    def cached(self) -> Sequence[int]:
        """The tokens in the cache, oldest first. Not to be changed by the caller."""

    def rewind(self, n_tokens: int) -> None:
        """Forget all but the first `n_tokens` cached tokens."""

    def extend(self, tokens: Sequence[int], n_rows: int) -> None:
        """Evaluate `tokens` (at most `n_batch`) after the cached ones; keep logits of the last `n_rows` of them.

        Raises Cancelled if it was cancelled, DecodeFailed if the pass failed; either way the cache then holds what
        it held before.
        """

    def logits(self, row: int) -> Logits:
        """Return row `row` (0 is the first kept one) of the last pass: shape (n_vocab,), valid until the next pass."""


class Target(CausalModel, Protocol):
    """The model whose answer counts."""

    def is_end_of_answer(self, token: int) -> bool: ...


class Sampler(Protocol):
    """The request's sampling settings applied to logits, with the penalty state of the tokens accepted so far.

    A grammar, where there is one, gives what it does not allow no probability.
    """

    @property
    def is_greedy(self) -> bool: ...

    def argmax(self, logits: Logits) -> int:
        """Return the most likely token after penalties (greedy decoding)."""

    def distribution(self, logits: Logits) -> Distribution:
        """Return the distribution after penalties, grammar, truncation and temperature."""

    def begin(self, prompt: Sequence[int]) -> None:
        """Take `prompt` into the penalty state; a grammar does not apply to it."""

    def accept(self, token: int) -> None:
        """Take `token` of the answer into the penalty state and the grammar's."""

    def fork(self) -> Sampler:
        """Return an independent copy, for a drafter that looks ahead."""


class HiddenStates(Protocol):
    """What the target publishes of each pass beside logits, for drafters that read its mind."""

    @property
    def width(self) -> int:
        """Numbers per token."""

    def rows(self) -> NDArray[np.float32]:
        """Return one row per token of the last pass: shape (n_tokens, width), a view valid until the next pass."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Proposed tokens. `distributions[i]` is exactly what `tokens[i]` was sampled from; None where the draft is a point
    mass (n-gram, argmax), which is verified by sample-and-match.

    `confidences[i]` is what the gate was asked about `tokens[i]`; () where it was not asked. `skip` is set by a policy
    that decided to draft nothing.
    """

    tokens: tuple[int, ...] = ()
    source: DraftSource = DraftSource.NONE
    distributions: tuple[Distribution, ...] | None = None
    confidences: tuple[float, ...] = ()
    skip: Skip | None = None


class Gate(Protocol):
    """Whether to go on with a draft: asked before token `i` (0 is the first) is chosen, with the drafter's confidence.

    The confidence is the probability of the drafter's most likely token, or what its confidence head says. It is known
    before the token is chosen: a sampled token that has been chosen is submitted, whatever it is, or the output would
    be biased. Where the gate says no the draft ends before token `i`.
    """

    def __call__(self, i: int, confidence: float) -> bool: ...


class Drafter(Protocol):
    """Anything that proposes tokens.

    The loop calls `begin` once for a prompt, `observe` after every pass of the target (prompt chunks and verification
    passes alike, before anything is rolled back, so a drafter that reads the target's hidden states can copy them), and
    `draft` before a verification, if the policy asks this drafter. `history` is always the whole committed sequence,
    prompt and answer, whose last token the target has not evaluated yet.
    """

    @property
    def source(self) -> DraftSource: ...

    def begin(self, prompt: Sequence[int]) -> int:
        """Prepare for `prompt`; return how many of its first tokens need not be observed.

        A drafter that reads hidden states returns how many it has read already, so that the target shows it the rest;
        one that reads none returns len(prompt).
        """

    def observe(self, tokens: Sequence[int], first_position: int) -> None:
        """The target has just evaluated `tokens` at positions from `first_position` on.

        Positions may go back: what was observed from `first_position` on before is void then. In a verification pass
        the drafted tokens are among `tokens`, rejected ones too.
        """

    def draft(
        self, history: Sequence[int], n_max: int, sampler: Sampler, rng: np.random.Generator, gate: Gate
    ) -> Draft:
        """Propose at most `n_max` tokens to follow `history`, as far as `gate` lets it; an empty draft is fine.

        Whether a sampled token is submitted must not depend on that token or on later ones (it would bias the output).
        """


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """What a policy drafts for: at most `n_max` (at least 1) tokens after `history`."""

    history: Sequence[int]
    n_max: int
    sampler: Sampler
    rng: np.random.Generator


@dataclass(frozen=True, slots=True)
class RoundCost:
    """What one verification round cost and gave.

    The target's pass was over `n_pass` tokens after `n_cached`, `draft` was verified in it and its first `accepted`
    tokens were accepted. Seconds of the lane's own clock, `pass_s` of the pass without the choice of tokens by it.
    `certainty` is the probability of the target's own most likely token where the policy skipped drafting: how
    foreseeable the text is at present. None where it was not looked at.
    """

    n_pass: int
    n_cached: int
    draft: Draft
    accepted: int
    draft_s: float
    pass_s: float
    certainty: float | None = None


class DraftPolicy(Protocol):
    """Decides before each round whether to draft, with which drafter and how far.

    It may look at history, costs and confidences, never at what the target thinks of tokens not yet submitted.
    """

    def draft(self, drafters: Sequence[Drafter], request: DraftRequest) -> Draft: ...

    def learn(self, cost: RoundCost) -> None:
        """Called after every verification round, those without a draft too."""


class TextStream(Protocol):
    """Turns tokens into text as they come and knows when a stop string has appeared."""

    def push(self, token: int) -> str:
        """Return the text that became visible with `token`."""

    def flush(self) -> str:
        """Return what was held back, at the end of an answer."""

    @property
    def stopped(self) -> bool:
        """Whether a stop string has appeared; text from it on is never returned."""
