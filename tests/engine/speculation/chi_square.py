"""Whether tokens came from a Markov chain: Pearson's chi-square over every context of two tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from engine.speculation.protocols import Logits
from engine.speculation.settings import SamplingSettings
from tests.numpy_models import NumpySampler

MIN_EXPECTED = 5.0


def transition_matrix(table: Logits, settings: SamplingSettings) -> NDArray[np.float64]:
    """Return the true probabilities, shape (n_vocab, n_vocab), of a chain of order 1 after `settings`."""
    matrix = np.zeros(table.shape)
    for row, logits in zip(matrix, table, strict=True):
        distribution = NumpySampler(settings).distribution(logits)
        row[distribution.ids] = distribution.probs
    return matrix


def p_value(tokens: Sequence[int], transitions: NDArray[np.float64]) -> float:
    """Return the probability of a deviation at least this large if `tokens` came from the chain
    `transitions`.

    Counts of (before, last, next) are compared with the chain's probability of `next` after `last`, so a
    `next` that depends on what was before `last` is noticed too. 0.0 if something impossible appeared.
    """
    n = len(transitions)
    ids = np.asarray(tokens)
    counts = np.zeros((n, n, n))
    np.add.at(counts, (ids[:-2], ids[1:-1], ids[2:]), 1)
    statistic, freedom = 0.0, 0
    for before in range(n):
        for last in range(n):
            seen, expected = counts[before, last], counts[before, last].sum() * transitions[last]
            if seen[expected == 0.0].any():
                return 0.0
            frequent = expected >= MIN_EXPECTED
            seen = np.append(seen[frequent], seen[~frequent].sum())
            expected = np.append(expected[frequent], expected[~frequent].sum())
            # The rare ones count as one cell, if that one is not too rare itself.
            used = expected >= MIN_EXPECTED
            if used.sum() > 1:
                statistic += float(((seen[used] - expected[used]) ** 2 / expected[used]).sum())
                freedom += int(used.sum()) - 1
    return float(chi2.sf(statistic, freedom))
