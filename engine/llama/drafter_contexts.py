"""The contexts that each kind of drafter needs: its own, and what it asks of the target's.

Source: common/speculative.cpp (common_base_params_to_speculative, common_speculative_init_result).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from engine.llama.context_settings import ContextSettings
from engine.models.bundle import DrafterKind
from engine.models.gguf_header import GgufHeader

# Drafters that encode keep a row of the whole vocabulary for each token of a pass: small passes keep them small.
ENCODER_BATCH: Final = 128
_ENCODES: Final = frozenset({DrafterKind.EAGLE3, DrafterKind.DFLASH, DrafterKind.DSPARK})


def target_settings(plain: ContextSettings, kind: DrafterKind, rollback_tokens: int) -> ContextSettings:
    """Return the target's settings for a drafter of `kind`: a running state is to go back `rollback_tokens` tokens."""
    return replace(plain, n_rs_seq=rollback_tokens) if kind.rolls_back else plain


def drafter_settings(target: ContextSettings, kind: DrafterKind, n_ctx_train: int) -> ContextSettings:
    """Return the settings of the drafter's own context beside one of the target with settings `target`.

    A draft model that looks back less far than its target, `n_ctx_train` tokens (0: not known), gets a context of
    what it can.
    """
    if kind in _ENCODES:
        return replace(target, max_rows=ENCODER_BATCH, n_batch=ENCODER_BATCH, n_rs_seq=0)
    own = replace(target, max_rows=1, n_rs_seq=0)
    if kind is DrafterKind.MODEL:
        return replace(own, n_ctx=min(target.n_ctx, n_ctx_train or target.n_ctx))
    return own


def n_tapped_layers(kind: DrafterKind, drafter: GgufHeader | None) -> int:
    """Return how many layers' inputs the drafter reads out of the target (`<arch>.target_layers`)."""
    if kind not in _ENCODES or drafter is None:
        return 0
    layers = drafter.metadata.get(f"{drafter.architecture}.target_layers")
    return len(layers) if isinstance(layers, tuple) else 0
