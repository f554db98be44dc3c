"""The truth light: whether speculation really works, from counted tokens, never from settings."""

from __future__ import annotations

from enum import StrEnum

from app.format import share, speed
from engine.measure.metrics import Metrics


class TruthLight(StrEnum):
    """OFF: not asked for. IDLE: asked for, nothing drafted. DRAFTING: tokens were drafted."""

    OFF = "off"
    IDLE = "idle"
    DRAFTING = "drafting"


def truth_light(metrics: Metrics, *, speculative: bool) -> TruthLight:
    """Return what the rounds behind `metrics` prove."""
    if not speculative:
        return TruthLight.OFF
    return TruthLight.DRAFTING if metrics.drafted else TruthLight.IDLE


def truth_words(metrics: Metrics, *, speculative: bool) -> str:
    """Return the light in words: "Drafting: 78 % accepted, 41.0 tok/s"."""
    light = truth_light(metrics, speculative=speculative)
    if light is TruthLight.OFF:
        return "Speculation off"
    if light is TruthLight.IDLE:
        return "On, nothing drafted" if metrics.rounds else "Speculation on"
    return f"Drafting: {share(metrics.acceptance_rate)} accepted, {speed(metrics.tokens_per_s)}"
