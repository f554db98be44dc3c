"""Memory where llama.cpp cannot be asked: from a header it does not know, or from a catalogue's facts alone."""

from __future__ import annotations

from math import sqrt
from typing import Final

from engine.budget.budget import CTX_STEP, KvType, Segment
from engine.budget.room import HOST_RESERVE_BYTES
from engine.budget.shape import Shape, shape_of
from engine.models.bundle import ROLLBACK_TOKENS
from engine.models.catalogue import CatalogueEntry
from engine.models.gguf_header import GgufHeader

ERROR_FRACTION: Final = 0.1
"""How far an estimate of everything may be off (tests/engine/budget/test_estimate.py)."""

_N_BATCH: Final = 512
_N_ROWS: Final = 17
_FLOAT_BYTES: Final = 4
_MASK_BYTES: Final = 2
# A running state is kept twice in main memory for going back.
_N_SNAPSHOTS: Final = 2
_TYPICAL_VOCAB: Final = 200_000
_VOCABULARY_BYTES: Final = 320
# n_ff over n_embd of dense models of today.
_TYPICAL_WIDTH: Final = 3.3
# Weights of a layer over the square of n_embd: attention and a gated feed-forward of the width above.
_TYPICAL_LAYER: Final = 12
# Bits of a number with its share of a block's scale: 34 and 18 bytes for 32 numbers.
_KV_BITS: Final = {KvType.F16: 16.0, KvType.Q8_0: 8.5, KvType.Q4_0: 4.5}


def estimate_entry(entry: CatalogueEntry, n_ctx: int, kv_type: KvType, *, race: bool) -> dict[Segment, int]:
    """Return the bytes that `entry` would take with all of it on one device, within ERROR_FRACTION."""
    facts = entry.memory
    states = 1 + (ROLLBACK_TOKENS if entry.bundle.drafter_kind.rolls_back else 0)
    n_embd = sqrt(entry.n_params * facts.active_fraction / (_TYPICAL_LAYER * max(facts.n_layers, 1)))
    taken = {
        Segment.WEIGHTS: entry.target_bytes,
        Segment.KV: kv_bytes(facts.kv_bytes_per_token // 2, n_ctx, kv_type)
        + round(facts.window_bytes * _KV_BITS[kv_type] / _KV_BITS[KvType.F16]),
        Segment.STATE: facts.state_bytes * states,
        Segment.SNAPSHOTS: facts.state_bytes * _N_SNAPSHOTS,
        Segment.COMPUTE: compute_bytes(
            n_ctx, round(n_embd), round(n_embd * _TYPICAL_WIDTH), round(n_embd), _TYPICAL_VOCAB
        ),
        Segment.OUTPUT: _N_ROWS * _TYPICAL_VOCAB * _FLOAT_BYTES,
        Segment.VOCABULARY: _TYPICAL_VOCAB * _VOCABULARY_BYTES,
        Segment.DRAFTER_WEIGHTS: entry.drafter_bytes,
        Segment.DRAFTER_KV: kv_bytes(facts.drafter_kv_bytes_per_token // 2, n_ctx, kv_type),
    }
    if entry.bundle.drafter_kind.has_weights:
        width = round(sqrt(max(entry.drafter_bytes, 1) / 1e9) * 2048)
        taken[Segment.DRAFTER_COMPUTE] = compute_bytes(n_ctx, width, width * 3, width, 0)
    return _complete(taken, race=race)


def estimate_header(
    header: GgufHeader, n_ctx: int, kv_type: KvType, *, n_rs_seq: int = 0, race: bool = False
) -> dict[Segment, int]:
    """Return the bytes that the model with this header would take on one device, within ERROR_FRACTION.

    Raises NotAModelFile where no model can have what the header says.
    """
    return estimate_shape(shape_of(header), n_ctx, kv_type, n_rs_seq=n_rs_seq, race=race)


def estimate_shape(
    shape: Shape, n_ctx: int, kv_type: KvType, *, n_rs_seq: int = 0, race: bool = False
) -> dict[Segment, int]:
    """Return the same of a model's shape, which takes a while to find out."""
    taken = {
        Segment.WEIGHTS: shape.weights_bytes,
        Segment.KV: kv_bytes(shape.kv_numbers_per_token, n_ctx, kv_type)
        + _window_bytes(shape, n_ctx, kv_type),
        Segment.STATE: shape.state_bytes * (1 + n_rs_seq),
        Segment.SNAPSHOTS: shape.state_bytes * _N_SNAPSHOTS,
        Segment.COMPUTE: _compute_bytes(shape, n_ctx),
        Segment.OUTPUT: _N_ROWS * shape.n_vocab * _FLOAT_BYTES,
        Segment.VOCABULARY: shape.vocabulary_bytes,
    }
    return _complete(taken, race=race)


def kv_bytes(numbers_per_token: int, n_ctx: int, kv_type: KvType) -> int:
    """Return what a cache of so many numbers a token takes; llama.cpp rounds contexts up."""
    return round(numbers_per_token * padded(n_ctx) * _KV_BITS[kv_type] / 8)


def padded(n_cells: int) -> int:
    return -(-n_cells // CTX_STEP) * CTX_STEP


def compute_bytes(n_ctx: int, n_embd: int, n_ff: int, n_attention: int, n_vocab: int) -> int:
    """Return about what a pass over a batch needs: the mask, and the widest moment, in a layer or at the end."""
    n_batch = min(n_ctx, _N_BATCH)
    in_attention = 3 * n_attention + n_embd
    in_feed_forward = 3 * n_ff + 4 * n_embd
    in_a_layer = n_batch * max(in_attention, in_feed_forward) * _FLOAT_BYTES
    at_the_end = _N_ROWS * n_vocab * _FLOAT_BYTES
    return _MASK_BYTES * n_batch * padded(n_ctx) + max(in_a_layer, at_the_end)


def _compute_bytes(shape: Shape, n_ctx: int) -> int:
    all_layers = compute_bytes(n_ctx, shape.n_embd, shape.n_ff, shape.n_attention, shape.n_vocab)
    # Windowed layers have a mask of their own.
    return all_layers + _MASK_BYTES * min(n_ctx, _N_BATCH) * padded(_window_cells(shape, n_ctx))


def _window_bytes(shape: Shape, n_ctx: int, kv_type: KvType) -> int:
    n_cells = _window_cells(shape, n_ctx)
    return kv_bytes(shape.windowed.numbers_per_token, n_cells, kv_type) if shape.windowed is not None else 0


def _window_cells(shape: Shape, n_ctx: int) -> int:
    """Return how many tokens windowed layers cache: the window and one batch (src/llama-kv-cache-iswa.cpp)."""
    return min(n_ctx, shape.windowed.window + min(n_ctx, _N_BATCH)) if shape.windowed is not None else 0


def _complete(taken: dict[Segment, int], *, race: bool) -> dict[Segment, int]:
    if race:
        raced = (Segment.KV, Segment.STATE, Segment.SNAPSHOTS, Segment.COMPUTE, Segment.OUTPUT)
        taken[Segment.RACE] = sum(taken[segment] for segment in raced)
    taken[Segment.RESERVE] = HOST_RESERVE_BYTES
    return {segment: n_bytes for segment, n_bytes in taken.items() if n_bytes}
