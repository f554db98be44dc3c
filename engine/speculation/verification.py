"""Verification: which drafted tokens the target accepts, and the token it puts after them.

Lossless in the sense that matters: a greedy answer is the target's own greedy answer, and a sampled one has
the target's distribution after the request's penalties, truncation and temperature.

- Greedy: a drafted token is accepted if it is the target's argmax.
- Draft of known distribution q: speculative sampling (Leviathan et al. 2023; Chen et al. 2023): accepted with
  probability min(1, p/q), a rejection draws from max(p - q, 0) normalised.
- Point mass (n-gram, argmax): sample-and-match as llama.cpp does (common/sampling.cpp,
  `common_sampler_sample_and_accept_n`). The target's token is drawn first, one uniform number for each
  token that is emitted, so a seed gives the same text with and without such a drafter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from engine.speculation.protocols import Distribution, Draft, Logits, Sampler


def verify(
    draft: Draft, logits: Callable[[int], Logits], sampler: Sampler, rng: np.random.Generator
) -> Iterator[tuple[int, bool]]:
    """Yield the tokens that come out of one pass, each with whether it was drafted and accepted.

    `logits(i)` are the target's after the first `i` drafted tokens. Each token is taken into the sampler's
    penalty state before the next row is looked at; a caller that ends the answer early just stops
    iterating.
    """
    for i, drafted in enumerate(draft.tokens):
        token, accepted = _judge(draft, i, drafted, logits(i), sampler, rng)
        sampler.accept(token)
        yield token, accepted
        if not accepted:
            return
    token = _own_token(logits(len(draft.tokens)), sampler, rng)
    sampler.accept(token)
    yield token, False


def sample(distribution: Distribution, u: float) -> int:
    """Return the token at `u` (0 <= u < 1) of the cumulative distribution over ascending ids."""
    order = distribution.ids.argsort()
    return int(distribution.ids[order[_inverse_cdf(distribution.probs[order], u)]])


def residual(p: Distribution, q: Distribution) -> Distribution:
    """Return max(p - q, 0) normalised, over the tokens of `p`.

    Where rounding leaves nothing of it (p and q equal but for the last bits), return `p`.
    """
    rest = np.maximum(p.probs - _probabilities(q, p.ids), 0.0)
    total = rest.sum()
    return Distribution(p.ids, rest / total) if total > 0.0 else p


def _judge(
    draft: Draft, i: int, drafted: int, logits: Logits, sampler: Sampler, rng: np.random.Generator
) -> tuple[int, bool]:
    if sampler.is_greedy or draft.distributions is None:
        token = _own_token(logits, sampler, rng)
        return token, token == drafted
    p, q = sampler.distribution(logits), draft.distributions[i]
    if rng.random() * _probability(q, drafted) < _probability(p, drafted):
        return drafted, True
    return sample(residual(p, q), rng.random()), False


def _own_token(logits: Logits, sampler: Sampler, rng: np.random.Generator) -> int:
    if sampler.is_greedy:
        return sampler.argmax(logits)
    return sample(sampler.distribution(logits), rng.random())


def _inverse_cdf(probs: NDArray[np.float64], u: float) -> int:
    cumulative = probs.cumsum()
    total = cumulative[-1]
    at = cumulative.searchsorted(u * total, side="right")
    # `u * total` may round up to `total`; the last token of non-zero probability is then the right one.
    return int(at) if at < len(cumulative) else int(cumulative.searchsorted(total, side="left"))


def _probability(distribution: Distribution, token: int) -> float:
    return float(distribution.probs @ (distribution.ids == token))


def _probabilities(distribution: Distribution, ids: NDArray[np.int32]) -> NDArray[np.float64]:
    order = distribution.ids.argsort()
    known = distribution.ids[order]
    at = known[:-1].searchsorted(ids)
    return np.where(known[at] == ids, distribution.probs[order[at]], 0.0)
