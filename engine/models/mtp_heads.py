"""What an MTP head must have: llama.cpp asserts it when it builds the head's graph, which ends the process.

Source: the graph_mtp of each file in src/models.
"""

from __future__ import annotations

from typing import Final

from engine.models.gguf_header import GgufHeader

MANY_HEADS: Final = frozenset({"hy_v3", "mimo2", "step35"})
"""Architectures that can chain several heads; the others assert that there is exactly one."""

_ALWAYS: Final = ("nextn.eh_proj", "nextn.enorm", "nextn.hnorm")
_ALSO: Final = {
    "mimo2": ("attn_qkv",),
    "bailingmoe3": ("nextn.shared_head_norm",),
    "nemotron_h_moe": ("nextn.shared_head_norm",),
}
_MOST_HEADS: Final = 64


def missing_in_heads(header: GgufHeader, n_layers: int, n_heads: int) -> str:
    """Return the first tensor that the heads, blocks `n_layers` and on, need and do not have; "" if none."""
    names = header.tensor_names
    needed = (*_ALWAYS, *_ALSO.get(header.architecture, ()))
    blocks = range(n_layers, n_layers + min(n_heads, _MOST_HEADS))
    tensors = (f"blk.{block}.{part}.weight" for block in blocks for part in needed)
    return next((tensor for tensor in tensors if tensor not in names), "")
