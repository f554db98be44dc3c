"""Where two lanes part is never lost, whatever happens to the pass that measures how near it was."""

from __future__ import annotations

from engine.llama.context import Context, ContextSettings
from engine.llama.model import Model
from engine.worker.answers import parting

PROMPT, COMMON = [1, 2, 3], [4, 5]


def test_a_cancel_leaves_the_place_and_takes_the_gap(llama_model: Model) -> None:
    with Context(llama_model, ContextSettings(n_ctx=64, n_threads=1)) as context:
        context.extend([*PROMPT, *COMMON], 0)
        whole = parting(context, PROMPT, [*COMMON, 6], [*COMMON, 7])
        context.cancel.set()
        cancelled = parting(context, PROMPT, [*COMMON, 6], [*COMMON, 7])
    assert whole is not None
    assert whole.logit_gap is not None
    assert cancelled is not None
    assert (cancelled.index, cancelled.plain_token, cancelled.speculative_token) == (2, 6, 7)
    assert cancelled.logit_gap is cancelled.relative_gap is None


def test_lanes_that_agree_do_not_part(llama_model: Model) -> None:
    with Context(llama_model, ContextSettings(n_ctx=64, n_threads=1)) as context:
        assert parting(context, PROMPT, COMMON, [*COMMON, 7]) is None
