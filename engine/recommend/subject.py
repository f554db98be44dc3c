"""What advice is given about: a bundle of the catalogue or one that is here, reduced to what decides."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from engine.budget.budget import USABLE_N_CTX
from engine.models.bundle import DrafterKind
from engine.models.catalogue import MeasuredSpeedup
from engine.recommend.forecast import TokenCost

TotalBytes = Callable[[int], int]
"""What a bundle takes with a context of so many tokens."""


@dataclass(frozen=True, slots=True)
class Subject:
    """`family` is the same for other forms of the same model. `active_params` are those that a token uses.

    `total_bytes` None: nothing is known but `file_bytes`, and of that perhaps nothing (0). `n_ctx_train` 0: not known.
    """

    id: str
    name: str
    family: str
    n_params: int
    active_params: int
    n_ctx_train: int
    drafter_kind: DrafterKind
    file_bytes: int
    target_bytes: int
    read_bytes: int
    kv_bytes_per_token: int = 0
    total_bytes: TotalBytes | None = None
    speedups: tuple[MeasuredSpeedup, ...] = ()
    released: str = ""

    @property
    def n_ctx(self) -> int:
        """Return the context that everything is reckoned with: a usable one, less where the model has less."""
        return min(USABLE_N_CTX, self.n_ctx_train or USABLE_N_CTX)

    @property
    def cost(self) -> TokenCost:
        """Return what a token reads when the context is half full."""
        return TokenCost(self.read_bytes, self.kv_bytes_per_token * self.n_ctx // 2)

    @property
    def quality(self) -> float:
        """Return how capable it is likely to be, as an equal number of parameters of 2024.

        Of a mixture of experts the geometric mean of all and the active ones counts. Each year has made models about as
        good as twice their size were the year before; coarse quantisation takes some of that back.
        """
        bits = self.target_bytes * 8 / self.n_params if self.n_params else 0
        kept = 0.6 if bits < 3.2 else 0.85 if bits < 4 else 1.0
        newer = math.pow(2.0, _year(self.released) - 2024)
        return kept * newer * math.sqrt(self.n_params * self.active_params)


def _year(released: str) -> float:
    """Return "2026-08" as 2026.58; what nobody knows counts as 2025."""
    year, _, month = released.partition("-")
    if not year.isdecimal():
        return 2025.0
    return int(year) + ((int(month) - 1) / 12 if month.isdecimal() else 0.0)
