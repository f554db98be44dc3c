"""How many threads llama.cpp computes with: changed between two passes, at no cost."""

from __future__ import annotations

from collections.abc import Iterable

from llama_cpp import llama_cpp as api

from engine.errors import PreconditionFailed
from engine.llama.memory import Measurable


def use_threads(contexts: Iterable[Measurable], n_threads: int) -> None:
    """Have the next passes of `contexts` use `n_threads`, over one token and over many alike; at least 1.

    Raises PreconditionFailed for less than one thread or a closed context.
    """
    if n_threads < 1:
        raise PreconditionFailed(f"A pass needs at least one thread, not {n_threads}.")
    for context in contexts:
        # n_threads_batch is what a pass over more than one token uses, a verification too (src/llama-context.cpp).
        api.llama_set_n_threads(context.pointer, n_threads, n_threads)
