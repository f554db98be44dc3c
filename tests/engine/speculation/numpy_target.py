"""A numpy target that looks two tokens back, what it says, and what drafts for it, rightly or wrongly."""

from __future__ import annotations

from collections.abc import Sequence

from engine.speculation.draft_model import DraftModelDrafter
from engine.speculation.ngram import NgramDrafter
from engine.speculation.protocols import Drafter
from tests.engine.speculation.helpers import answer, tokens_of
from tests.numpy_models import NumpyModel, markov_table

N_VOCAB = 12
END = 11
PROMPT = (1, 2, 3)
TABLE = markov_table(N_VOCAB, seed=1, sharpness=2.0, order=2)
TABLE[..., END] -= 100.0  # Only the models of `ending_model` end by themselves.


def model(*, n_ctx: int = 4096, n_batch: int = 32, max_rows: int = 17) -> NumpyModel:
    return NumpyModel(TABLE, n_ctx, n_batch, max_rows, end_tokens=frozenset({END}))


def plain_answer(prompt: Sequence[int] = PROMPT, max_tokens: int = 40) -> list[int]:
    return tokens_of(answer(model(), prompt, max_tokens=max_tokens))


def right(history: Sequence[int], n_max: int) -> list[int]:
    """Propose what the target will say."""
    ahead = list(history)
    for _ in range(n_max):
        ahead.append(int(model().row_after(ahead).argmax()))
    return ahead[len(history) :]


def wrong(history: Sequence[int], n_max: int) -> list[int]:
    return [(token + 1) % (N_VOCAB - 1) for token in right(history, n_max)]


def half_right(history: Sequence[int], n_max: int) -> list[int]:
    kept = len(history) % (n_max + 1)
    return right(history, n_max)[:kept] + wrong(history, n_max)[kept:]


def ngram() -> Drafter:
    return NgramDrafter()


def draft_model() -> Drafter:
    table = TABLE + markov_table(N_VOCAB, seed=2, sharpness=0.7, order=2)
    return DraftModelDrafter(NumpyModel(table, max_rows=1), N_VOCAB)
