"""How far do the logits of a pass over several tokens lie from those of passes over one? No speculation involved.

    python -m benchmarks.pass_width MODEL [--tokens 24] [--threads 1]

Greedy lanes can part wherever the logits of two tokens are closer than this: what llama.cpp's kernels round apart.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.report import table
from engine.llama.context import Context, ContextSettings
from engine.llama.environment import prepare_environment
from engine.llama.library import start_llama
from engine.llama.model import Model
from engine.models.model_file import ModelRole
from engine.speculation.protocols import Logits

WIDTHS = (1, 2, 3, 4, 8, 12)
PROMPT = "Write a poem of eight lines about a city in the rain.\n"


def greedy(context: Context, prompt: list[int], n_tokens: int) -> tuple[list[int], list[Logits]]:
    """Return an answer decoded token by token, and the logits after each of its tokens."""
    tokens, rows = [], []
    context.extend(prompt, 1)
    for _ in range(n_tokens):
        tokens.append(int(context.logits(0).argmax()))
        context.extend(tokens[-1:], 1)
        rows.append(context.logits(0).copy())
    return tokens, rows


def in_passes_of(width: int, context: Context, prompt: list[int], tokens: list[int]) -> list[Logits]:
    """Return the logits after each of `tokens`, evaluated `width` at a time."""
    rows: list[Logits] = []
    context.clear()
    context.extend(prompt, 1)
    for start in range(0, len(tokens), width):
        chunk = tokens[start : start + width]
        context.extend(chunk, len(chunk))
        rows += [context.logits(row).copy() for row in range(len(chunk))]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    prepare_environment()
    library = start_llama(lambda level, text: None)
    model = Model.open(library, Path(options.model), role=ModelRole.TARGET, n_gpu_layers=0)
    context = Context(model, ContextSettings(n_ctx=1024, n_threads=options.threads))
    prompt = model.vocabulary.tokenize(PROMPT)
    tokens, alone = greedy(context, prompt, options.tokens)
    rows = []
    for width in WIDTHS:
        together = in_passes_of(width, context, prompt, tokens)
        apart = [float(np.abs(one - other).max()) for one, other in zip(alone, together, strict=True)]
        rows.append((width, f"{np.median(apart):.4f}", f"{max(apart):.4f}"))
    print(f"{Path(options.model).name}: largest logit {max(float(row.max()) for row in alone):.1f}")
    print(table(("tokens a pass", "median difference", "largest difference"), rows))
    model.close()


if __name__ == "__main__":
    main()
