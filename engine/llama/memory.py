"""What a context really takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from engine.llama.breakdown import (
    HOST,
    BufferUse,
    MemoryByDevice,
    MemoryUse,
    add_up,
    by_device,
    read_breakdown,
)
from engine.llama.model import Model

_MAPPED = "CPU_Mapped"


class Measurable(Protocol):
    """A context, the target's or a drafter's."""

    @property
    def model(self) -> Model: ...

    @property
    def pointer(self) -> Any: ...

    @property
    def output_bytes(self) -> int:
        """What rows of logits and hidden states take of main memory."""

    @property
    def snapshot_bytes(self) -> int:
        """What running states that were set aside take of main memory."""


def allocated(context: Measurable) -> MemoryByDevice:
    """Return what `context` and its model's weights take, by device name; {} if this build does not tell.

    Rows of logits and running states that were set aside are main memory outside of llama.cpp's account.
    """
    buffers = read_breakdown(context.pointer)
    if buffers is None:
        return {}
    mine = MemoryUse(kv_bytes=context.snapshot_bytes, compute_bytes=context.output_bytes)
    unneeded = MemoryUse(weights_bytes=-_read_through_bytes(context.model, buffers))
    return add_up([by_device(buffers), {HOST: mine}, {HOST: unneeded}])


def _read_through_bytes(model: Model, buffers: Sequence[BufferUse]) -> int:
    """Return how many mapped bytes of the file hold weights that are left out, or were copied to a GPU or into another
    layout.

    llama.cpp maps the file from the first to the last tensor that stays in it; whatever lies between counts as
    mapped, and nobody reads it again.
    """
    weights_bytes = sum(buffer.use.weights_bytes for buffer in buffers)
    mapped_bytes = sum(b.use.weights_bytes for b in buffers if b.buffer_type == _MAPPED)
    surplus_bytes = weights_bytes - model.used_bytes
    tensors = {tensor.name: tensor.n_bytes or 0 for tensor in model.file.header.tensors}
    if model.n_layers_offloaded and "output.weight" not in tensors:
        # The output layer goes to a GPU first: an embedding that serves as it is there a second time, for real.
        surplus_bytes -= tensors.get("token_embd.weight", 0)
    return min(max(surplus_bytes, 0), mapped_bytes)
