"""Which races tell how fast a bundle is on this computer."""

from __future__ import annotations

from typing import Final

from engine.measure.metrics import Metrics
from engine.speculation.round import FinishReason

LEAST_TOKENS: Final = 32
"""Fewer say more about chance than about speed."""
_WHOLE: Final = frozenset({FinishReason.STOP, FinishReason.LENGTH})


def telling_speeds(plain: Metrics, speculative: Metrics) -> tuple[float, float] | None:
    """Return the tokens per second of both lanes; None where one was cut off, is short, or nothing was drafted."""
    lanes = (plain, speculative)
    if any(lane.finish_reason not in _WHOLE or lane.n_tokens < LEAST_TOKENS for lane in lanes):
        return None
    if not speculative.drafted or plain.tokens_per_s is None or speculative.tokens_per_s is None:
        return None
    return plain.tokens_per_s, speculative.tokens_per_s
