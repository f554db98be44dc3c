"""DSpark's Markov head outside of its graph: for a draft that has left the likeliest path."""

from __future__ import annotations

from typing import Final, Self

import numpy as np

from engine.models.model_file import ModelFile
from engine.models.tensor_rows import TensorRows
from engine.speculation.protocols import Logits

N_CANDIDATES: Final = 256
"""Tokens that stay possible in a row that is biased anew: the head has numbers of its own for each of 100,000."""


class MarkovHead:
    """A Rebias (engine/speculation/block_draft.py): the graph adds w2 · w1[token before] to a row's logits."""

    def __init__(self, before: TensorRows, after: TensorRows) -> None:
        self._before, self._after = before, after

    @classmethod
    def of(cls, file: ModelFile) -> Self | None:
        """Return the head of the drafter in `file`; None where it has none that can be read here.

        Those of a reduced vocabulary (`d2t`) have other rows than the logits, and are not; nor are scaled ones.
        """
        if not file.header.tensor_names.isdisjoint(("d2t", "markov_w2.scale")):
            return None
        before, after = (
            TensorRows.open(file.path, file.header, f"markov_{name}.weight") for name in ("w1", "w2")
        )
        return cls(before, after) if before is not None and after is not None else None

    def __call__(self, row: Logits, drawn: int, likeliest: int) -> Logits:
        candidates = np.arange(min(len(row), len(self._after)), dtype=np.int32)
        if len(candidates) > N_CANDIDATES:
            candidates = np.argpartition(row, -N_CANDIDATES)[-N_CANDIDATES:].astype(np.int32)
        other, was = self._before.rows(np.array([drawn, likeliest], np.int32))
        rebiased = np.full_like(row, -np.inf)
        rebiased[candidates] = row[candidates] + self._after.rows(candidates) @ (other - was)
        return rebiased
