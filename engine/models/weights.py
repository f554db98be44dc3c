"""Which weights one token reads: what decides how fast a model can be on a given memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from engine.models.gguf_header import GgufHeader, TensorInfo

# Tables of which a token reads one row.
_ROW_TABLES: Final = frozenset({"token_embd.weight", "per_layer_token_embd.weight"})


def read_bytes_per_token(header: GgufHeader, n_blocks: int) -> int:
    """Return the bytes of weights that the decoding of one token reads.

    Of a mixture of experts only the active ones, of an embedding table one row (a second time, whole, where it is the
    output too), and nothing of the blocks from `n_blocks` on: a target does not run its MTP heads.
    """
    n_experts = header.number(f"{header.architecture}.expert_count")
    n_used = header.number(f"{header.architecture}.expert_used_count")
    share = n_used / n_experts if 0 < n_used < n_experts else 1.0
    total = 0.0
    for tensor in _answering(header.tensors, n_blocks):
        n_bytes = tensor.n_bytes or 0
        if tensor.name in _ROW_TABLES:
            n_rows = tensor.shape[1] if len(tensor.shape) > 1 else 1
            total += n_bytes / max(n_rows, 1)
        elif "_exps." in tensor.name:
            total += n_bytes * share
        else:
            total += n_bytes
    if "output.weight" not in header.tensor_names:
        total += sum(t.n_bytes or 0 for t in header.tensors if t.name == "token_embd.weight")
    return round(total)


def _answering(tensors: Iterable[TensorInfo], n_blocks: int) -> Iterable[TensorInfo]:
    for tensor in tensors:
        block = tensor.name.split(".")[1] if tensor.name.startswith("blk.") else ""
        if not block.isdigit() or int(block) < n_blocks:
            yield tensor
