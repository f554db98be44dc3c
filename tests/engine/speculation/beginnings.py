"""How answers begin when they are sampled: as often as the target alone would have it, or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.stats import chisquare

from engine.llama.sampler import ChainSampler
from engine.speculation.cache import evaluate_missing, n_reusable
from engine.speculation.round import Round
from engine.speculation.settings import SamplingSettings
from tests.engine.speculation.kinds import OpenKind

SAMPLED = SamplingSettings(temperature=1.0, top_k=3, top_p=0.95, min_p=0.02)
N_FIRST = 4
"""The first token comes from the prompt; the others are the three of the first draft, if they are accepted."""
MIN_EXPECTED = 5.0
MIN_FREQUENT = 5

Beginning = tuple[int, ...]


Answer = Callable[[OpenKind, Sequence[int], int], Iterator[Round]]
"""Begins the answer to a prompt with a seed; it is to go on for a few tokens more than are looked at."""


def with_fixed_length(opened: OpenKind, prompt: Sequence[int], seed: int) -> Iterator[Round]:
    return opened.rounds(prompt, settings=SAMPLED, n_draft=3, max_tokens=N_FIRST + 4, seed=seed)


def deviation(opened: OpenKind, prompt: str, n_seeds: int, answer: Answer = with_fixed_length) -> float:
    """Return the p-value of the beginnings of `n_seeds` sampled answers, 0.0 if the target never says one of them."""
    tokens = opened.tokens(prompt)
    opened.bundle.forget()
    truth = true_distribution(opened, tokens)
    opened.bundle.forget()
    seen = Counter(beginning_of(answer(opened, tokens, seed)) for seed in range(n_seeds))
    return p_value(truth, seen) if set(seen) <= set(truth) else 0.0


def true_distribution(opened: OpenKind, prompt: Sequence[int]) -> dict[Beginning, float]:
    """Return the target's own probability of each possible beginning of an answer, by going through all of them."""
    context, sampler = opened.context, ChainSampler(opened.bundle.target.vocabulary, SAMPLED)
    beginnings: dict[Beginning, float] = {(): 1.0}
    for _ in range(N_FIRST):
        longer: dict[Beginning, float] = {}
        for beginning, probability in beginnings.items():
            history = [*prompt, *beginning]
            context.rewind(n_reusable(context.cached, history))
            evaluate_missing(context, history)
            p = sampler.distribution(context.logits(0))
            for token, share in zip(p.ids.tolist(), p.probs.tolist(), strict=True):
                longer[(*beginning, token)] = probability * share
        beginnings = longer
    return beginnings


def beginning_of(rounds: Iterator[Round]) -> Beginning:
    tokens: list[int] = []
    for done in rounds:
        tokens.extend(done.tokens)
        if len(tokens) >= N_FIRST:
            break
    return tuple(tokens[:N_FIRST])


def p_value(truth: dict[Beginning, float], seen: Counter[Beginning]) -> float:
    """Return the probability of a deviation at least this large; the rare beginnings count as one."""
    n = seen.total()
    frequent = [beginning for beginning, share in truth.items() if share * n >= MIN_EXPECTED]
    assert len(frequent) >= MIN_FREQUENT
    expected = np.array([truth[beginning] * n for beginning in frequent])
    observed = np.array([seen[beginning] for beginning in frequent])
    rare = n - expected.sum()
    if rare >= 1.0:
        expected, observed = np.append(expected, rare), np.append(observed, n - observed.sum())
    return float(chisquare(observed, expected * (observed.sum() / expected.sum())).pvalue)
