"""Hidden states read out of a target: what MTP heads, EAGLE-3, DFlash and DSpark drafters look at."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.errors import DrafterCannotRun, PreconditionFailed
from engine.llama.context import Context
from engine.llama.private import (
    GET_FINAL_STATES,
    GET_LAYER_INPUT,
    SET_FINAL_STATES,
    SET_LAYER_INPUT,
    require_private,
)
from engine.models.architectures import PUBLISHES_FINAL_STATE, PUBLISHES_HIDDEN_STATES, PUBLISHES_LAST_LAYER

States = NDArray[np.float32]


class FinalStates:
    """HiddenStates (engine/speculation/protocols.py): what the last layer of a target gives, `n_embd_out` numbers.

    llama.cpp calls them nextn embeddings. Switched on for as long as the context lives, one row for each token of a
    pass (`masked` false). Raises DrafterCannotRun where the architecture or this build of llama.cpp has none.
    """

    def __init__(self, context: Context) -> None:
        architecture = context.model.architecture
        if architecture not in PUBLISHES_FINAL_STATE:
            # The buffer would silently stay zero (src/llama-context.cpp).
            raise _nothing_to_read(architecture)
        switch_on = require_private(SET_FINAL_STATES)
        self.width = context.model.n_embd_out
        self._context = context
        self._view = _RowsView(context, self.width)
        self._address = require_private(GET_FINAL_STATES)
        switch_on(context.pointer, True, False)
        context.tapped_width += self.width
        context.forget_pass()

    def rows(self) -> States:
        """Return one row per token of the last pass: shape (n_tokens, n_embd_out), a view valid until the next pass.

        Raises PreconditionFailed where there is no last pass.
        """
        _require_pass(self._context)
        return self._view.at(self._address(self._context.pointer))


class LayerInputs:
    """HiddenStates: the inputs of some layers of a target side by side, `n_embd` numbers for each of `layer_ids`.

    `layer_ids` are 0 to the target's `n_layers`; the last one is what comes out of its last layer. Few architectures
    publish that as one more layer input. EAGLE-3 takes the final state for it (common/speculative.cpp), with
    `final_state_as_last`. Raises DrafterCannotRun where the architecture or this build of llama.cpp has none of this:
    llama.cpp would end the process at the next pass (src/llama-graph.cpp, `layer input tensor is null`).
    """

    def __init__(
        self, context: Context, layer_ids: Sequence[int], *, final_state_as_last: bool = False
    ) -> None:
        model = context.model
        _check_layers(model.architecture, model.n_layers, layer_ids, final_state_as_last)
        self.width = len(layer_ids) * model.n_embd
        self._context = context
        self._address = require_private(GET_LAYER_INPUT)
        switch_on = require_private(SET_LAYER_INPUT)
        final = final_state_as_last and model.n_layers in layer_ids
        self._final = FinalStates(context) if final else None
        if self._final is not None and self._final.width != model.n_embd:
            raise _nothing_to_read(model.architecture)
        self._layers = [
            (layer, None if final and layer == model.n_layers else _RowsView(context, model.n_embd))
            for layer in layer_ids
        ]
        for layer, view in self._layers:
            if view is not None:
                switch_on(context.pointer, layer, True)
                context.tapped_width += model.n_embd
        context.forget_pass()

    def rows(self) -> States:
        """Return one row per token of the last pass: shape (n_tokens, width), the layers in the order of `layer_ids`.

        Raises PreconditionFailed where there is no last pass.
        """
        _require_pass(self._context)
        return np.concatenate([self._rows_of(layer, view) for layer, view in self._layers], axis=1)

    def _rows_of(self, layer: int, view: _RowsView | None) -> States:
        if view is None:
            assert self._final is not None
            return self._final.rows()
        return view.at(self._address(self._context.pointer, layer))


class _RowsView:
    """llama.cpp's buffer of `n_batch` rows as an array, made anew only where the buffer has moved."""

    def __init__(self, context: Context, width: int) -> None:
        self._context = context
        self._shape = (context.n_batch, width)
        self._at = 0
        self._rows: States = np.zeros((0, width), np.float32)

    def at(self, address: int | None) -> States:
        if not address:
            raise PreconditionFailed("llama.cpp has kept no hidden states of the last pass.")
        if address != self._at:
            floats = (ctypes.c_float * (self._shape[0] * self._shape[1])).from_address(address)
            self._rows = np.ctypeslib.as_array(floats).reshape(self._shape)
            self._at = address
        rows: States = self._rows[: self._context.n_pass]
        return rows


def _check_layers(
    architecture: str, n_layers: int, layer_ids: Sequence[int], final_state_as_last: bool
) -> None:
    if architecture not in PUBLISHES_HIDDEN_STATES:
        raise _nothing_to_read(architecture)
    if not layer_ids or min(layer_ids) < 0 or max(layer_ids) > n_layers:
        raise PreconditionFailed(f"Layers {list(layer_ids)} of a model of {n_layers} layers cannot be read.")
    if n_layers in layer_ids:
        published = PUBLISHES_FINAL_STATE if final_state_as_last else PUBLISHES_LAST_LAYER
        if architecture not in published:
            raise _nothing_to_read(architecture, "what comes out of its last layer")


def _nothing_to_read(architecture: str, what: str = "its hidden states") -> DrafterCannotRun:
    return DrafterCannotRun(
        f"In this llama.cpp a model of the architecture {architecture} does not give out {what}.",
        remedy="Choose a small model of the same family, or n-gram lookup, which fits every model.",
    )


def _require_pass(context: Context) -> None:
    if context.n_pass == 0:
        raise PreconditionFailed("There is no last pass whose hidden states could be read.")
