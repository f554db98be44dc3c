"""How sure a drafter is of its next token."""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.speculation.protocols import Logits

N_TOP: Final = 10
_CHUNK: Final = 128


def top_probability(logits: Logits) -> float:
    """Return the probability of the most likely token among the 10 most likely ones, at temperature 1.

    That is what llama.cpp's drafters compare with p_min (common/speculative.cpp: a top-k chain of 10). Only the chunks
    with the 10 largest maxima can hold them, so that a row of 150,000 logits is read once and hardly sorted.
    """
    n_whole = len(logits) // _CHUNK
    if n_whole > 2 * N_TOP:
        chunks = logits[: n_whole * _CHUNK].reshape(n_whole, _CHUNK)
        highest = np.argpartition(chunks.max(axis=1), -N_TOP)[-N_TOP:]
        logits = np.concatenate((chunks[highest].ravel(), logits[n_whole * _CHUNK :]))
    top = np.partition(logits, -N_TOP)[-N_TOP:] if len(logits) > N_TOP else logits
    return float(1.0 / np.exp(top - top.max()).sum())
