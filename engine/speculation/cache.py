"""A model's cached sequence and a sequence that is wanted: what they share, and how to get from one to the
other."""

from __future__ import annotations

from collections.abc import Sequence

from engine.speculation.protocols import CausalModel


def common_prefix(a: Sequence[int], b: Sequence[int], start: int = 0) -> int:
    """Return how many leading tokens `a` and `b` share; the first `start` are known to be equal."""
    end = min(len(a), len(b))
    n = min(start, end)
    while n < end and a[n] == b[n]:
        n += 1
    return n


def n_reusable(cached: Sequence[int], prompt: Sequence[int]) -> int:
    """Return how many tokens of `prompt` need not be evaluated again: never the last one, its logits are
    wanted."""
    return min(common_prefix(cached, prompt), len(prompt) - 1)


def evaluate_missing(model: CausalModel, tokens: Sequence[int]) -> None:
    """Evaluate what `model` lacks of `tokens`, whose cached part must agree, keeping the logits of the last
    one.

    Passes are at most `n_batch` long. Raises what `CausalModel.extend` raises.
    """
    while (done := len(model.cached)) < len(tokens):
        chunk = tokens[done : done + model.n_batch]
        model.extend(chunk, n_rows=1 if done + len(chunk) == len(tokens) else 0)
