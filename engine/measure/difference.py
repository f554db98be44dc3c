"""Where two greedy lanes part, and how close the decision was there.

A pass over one token and a pass over several may use other kernels and sum in another order, so two logits
that nearly tie can change places. That is worth showing and not worth hiding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.speculation.cache import evaluate_missing, n_reusable
from engine.speculation.protocols import CausalModel


@dataclass(frozen=True, slots=True)
class LogitGap:
    """`gap` is the logit of the plain lane's token minus that of the other's, in the plain lane's own pass;
    `relative` is its size over the larger absolute value of the two."""

    gap: float
    relative: float


def first_difference(plain: Sequence[int], speculative: Sequence[int], start: int = 0) -> int | None:
    """Return the index of the first token in which the lanes differ; the first `start` are known to be equal.

    None if one lane's tokens are the beginning of the other's: it is behind, or was stopped. It cannot have
    ended by itself, because what ends an answer is part of its tokens, or follows from them alone.
    """
    n_both = min(len(plain), len(speculative))
    return next((i for i in range(start, n_both) if plain[i] != speculative[i]), None)


def logit_gap(
    target: CausalModel,
    prompt: Sequence[int],
    common: Sequence[int],
    plain_token: int,
    speculative_token: int,
) -> LogitGap:
    """Return how far apart the two tokens' logits are after `prompt` and the `common` tokens of the answers.

    They are the model's own, before any penalty.
    `target` is the plain lane's: its cache is rolled back to there and the last token evaluated again,
    alone, as the lane did. Raises what `CausalModel.extend` raises.
    """
    history = [*prompt, *common]
    target.rewind(n_reusable(target.cached, history))
    evaluate_missing(target, history)
    logits = target.logits(0)
    plain, speculative = float(logits[plain_token]), float(logits[speculative_token])
    larger = max(abs(plain), abs(speculative))
    gap = plain - speculative
    return LogitGap(gap, abs(gap) / larger if larger > 0.0 else 0.0)
