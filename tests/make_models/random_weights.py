"""Random weights whose text is not constant: each token is followed by the one that a fixed permutation names.

The output row of a token's successor is its embedding. So a drafter that sees the embedding of the last token agrees
with its target (MTP heads, draft models), and one that sees it through attention alone hardly does (EAGLE-3, DFlash).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tests.make_models.gguf_file import Weights
from tests.make_models.shapes import N_EMBD, N_VOCAB, Shapes

N_SPECIAL: Final = 8
_RESIDUAL: Final = ("attn_output", "ffn_down")
_RESIDUAL_GAIN: Final = 0.5
_OUTPUT_SCALE: Final = 0.25


def random_weights(shapes: Shapes, seed: int) -> Weights:
    """Return float32 weights of `shapes`, the same for the same seed."""
    chance = np.random.default_rng(seed)
    token_embd, output = _permuting(N_EMBD)
    weights: Weights = {}
    for name, shape in shapes.items():
        if name in ("token_embd.weight", "output.weight") and shape[1] == N_EMBD:
            weights[name] = token_embd if name == "token_embd.weight" else output
        elif name.endswith("eh_proj.weight"):
            # The embedding passes, the hidden state only disturbs it.
            noise = chance.standard_normal((N_EMBD, N_EMBD)) * 0.3 / np.sqrt(N_EMBD)
            weights[name] = np.hstack((np.eye(N_EMBD), noise)).astype(np.float32)
        else:
            weights[name] = _filled(name, shape, chance)
    return weights


def _filled(name: str, shape: tuple[int, ...], chance: np.random.Generator) -> NDArray[Any]:
    noise = chance.standard_normal(shape)
    if len(shape) == 1:
        centre, spread = (0.0, 1.0) if name.endswith(".bias") else (1.0, 0.1)
        return np.asarray(centre + spread * noise, np.float32)
    gain = _RESIDUAL_GAIN if any(part in name for part in _RESIDUAL) else 1.0
    return np.asarray(gain * noise / np.sqrt(shape[-1]), np.float32)


def _permuting(n_embd: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return token table and output matrix, shape (N_VOCAB, n_embd) each; no special token follows anything."""
    chance = np.random.default_rng(1)
    n_plain = N_VOCAB - N_SPECIAL
    token_embd = chance.standard_normal((N_VOCAB, n_embd)).astype(np.float32)
    output = np.zeros_like(token_embd)
    output[chance.permutation(n_plain)] = token_embd[:n_plain] * _OUTPUT_SCALE
    return token_embd, output
