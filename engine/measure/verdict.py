"""What speculation bought, in one number and one sentence."""

from __future__ import annotations

from dataclasses import dataclass

from engine.measure.metrics import Metrics

SAME_WITHIN = 0.03
"""Two throughputs closer than this are called about the same: runs of one lane differ by as much."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`speedup` is the speculative lane's tokens per second of decode over the plain lane's; None while
    either has none. Of `drafted` tokens `accepted` were accepted: without one a faster lane was lucky, and without a
    draft both lanes did the same work.
    """

    plain_tokens_per_s: float | None
    speculative_tokens_per_s: float | None
    drafted: int
    accepted: int
    is_final: bool

    @property
    def speedup(self) -> float | None:
        return speedup(self.plain_tokens_per_s, self.speculative_tokens_per_s)

    @property
    def is_faster(self) -> bool:
        return self.accepted > 0 and self._seems_faster

    @property
    def _seems_faster(self) -> bool:
        return self.speedup is not None and self.speedup > 1.0 + SAME_WITHIN

    @property
    def is_slower(self) -> bool:
        return self.drafted > 0 and self.speedup is not None and self.speedup < 1.0 - SAME_WITHIN

    @property
    def sentence(self) -> str:
        """The verdict for people; while the lanes run it says so."""
        if self.speedup is None or self.plain_tokens_per_s is None or self.speculative_tokens_per_s is None:
            return "Too few tokens to compare." if self.is_final else "Waiting for both lanes."
        speeds = f"{_speed(self.speculative_tokens_per_s)} against {_speed(self.plain_tokens_per_s)} tokens/s"
        if not self.drafted:
            claim = "nothing was drafted, so the lanes differ by chance and by what a drafter takes to follow"
        elif self.is_faster:
            claim = f"{self.speedup:.2f}× faster"
        elif self._seems_faster:
            claim = f"{self.speedup:.2f}× faster by chance, no draft was accepted"
        elif self.is_slower:
            claim = f"{self.speedup:.2f}× — slower"
        else:
            claim = "about the same"
        return f"{claim[0].upper()}{claim[1:]}: {speeds}" if self.is_final else f"So far {claim}: {speeds}"


def speedup(plain_tokens_per_s: float | None, speculative_tokens_per_s: float | None) -> float | None:
    """Return how many times as fast the speculative lane is; None while either has no throughput."""
    if not plain_tokens_per_s or speculative_tokens_per_s is None:
        return None
    return speculative_tokens_per_s / plain_tokens_per_s


def verdict(plain: Metrics, speculative: Metrics, *, is_final: bool | None = None) -> Verdict:
    """Compare two lanes; final when both have finished, unless `is_final` says otherwise (a cancelled
    race)."""
    finished = plain.finish_reason is not None and speculative.finish_reason is not None
    return Verdict(
        plain.tokens_per_s,
        speculative.tokens_per_s,
        speculative.drafted,
        speculative.accepted,
        finished if is_final is None else is_final,
    )


def _speed(tokens_per_s: float) -> str:
    return f"{tokens_per_s:.1f}" if tokens_per_s < 100.0 else f"{tokens_per_s:.0f}"
