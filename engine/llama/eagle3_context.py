"""An EAGLE-3 head on llama.cpp.

`open_eagle3(model, target, settings) -> (drafter, context)`: `model` is the head's file, opened; `target` the context
whose states it reads from now on; `settings` what `drafter_settings` says. Close the context before the target's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.errors import PairUnfit
from engine.llama.cancel import CancelFlag
from engine.llama.context import Context
from engine.llama.context_settings import ContextSettings
from engine.llama.model import Model
from engine.llama.private import N_TARGET_LAYERS, TARGET_LAYERS, require_private
from engine.llama.state_batch import StateBatch
from engine.llama.state_context import StateContext
from engine.llama.taps import LayerInputs
from engine.speculation.eagle3 import Eagle3Drafter


def open_eagle3(
    model: Model, target: Context, settings: ContextSettings, cancel: CancelFlag | None = None
) -> tuple[Eagle3Drafter, StateContext]:
    """Return a drafter for `target` and its context, warmed up.

    Raises LoadFailed; PairUnfit or DrafterCannotRun where the target does not publish what the head reads.
    """
    taps = LayerInputs(target, target_layers(model), final_state_as_last=True)
    check_width(model, target, taps.width)
    context = Eagle3Context(model, target, settings, taps.width, cancel)
    try:
        context.warm_up()
        return Eagle3Drafter(context, taps, target.n_vocab), context
    except BaseException:
        context.close()
        raise


class Eagle3Context(StateContext):
    """An Eagle3Model (engine/speculation/eagle3.py) over llama.cpp. `target_width` is that of the tapped states."""

    def __init__(
        self,
        model: Model,
        target: Context,
        settings: ContextSettings,
        target_width: int,
        cancel: CancelFlag | None = None,
    ) -> None:
        super().__init__(model, target, settings, cancel)
        self.publish_states(of_wanted_rows_only=True)
        width = model.n_embd
        self._encoder_batch = StateBatch(self.n_batch, target_width)
        self._batch = StateBatch(self.n_batch, width)
        self._last_encoded: NDArray[np.float32] = np.zeros((1, width), np.float32)
        self._n_outputs = 0

    def read(self, states: NDArray[np.float32], tokens: Sequence[int], *, keep_outputs: bool) -> None:
        """Encode `states` to g, which is independent for each row, and decode the pairs of token and g."""
        first, count = self.n_entries, len(states)
        # The encoder looks at no positions (src/models/eagle3.cpp), but llama.cpp checks that they follow the cache's.
        self._encoder_batch.fill(range(first, first + count), states=states, n_wanted=count)
        self.encode(self._encoder_batch)
        encoded = self.states(count)
        self._last_encoded[:] = encoded[-1:]
        self._extend(tokens, encoded, keep_outputs=keep_outputs)

    def read_last_again(self, token: int) -> None:
        self.rewind(self.n_entries - 1)
        self._extend([token], self._last_encoded, keep_outputs=True)

    def step(self, token: int) -> None:
        self._extend([token], self.states(self._n_outputs)[-1:], keep_outputs=True)

    def logits(self) -> NDArray[np.float32]:
        last: NDArray[np.float32] = self.logit_rows(self._n_outputs)[-1]
        return last

    def warm_up(self) -> None:
        """Reserve every buffer with one long pass; the cache must be empty."""
        states = np.zeros((self.n_batch, self._encoder_batch.width), np.float32)
        self.read(states, [0] * self.n_batch, keep_outputs=True)
        self.rewind(0)

    def _extend(self, tokens: Sequence[int], states: NDArray[np.float32], *, keep_outputs: bool) -> None:
        first, count = self.n_entries, len(tokens)
        # The graph does not pick the wanted rows out (src/models/eagle3.cpp has no inp_out_ids), and llama.cpp takes
        # the first ones for them: all are wanted, or none.
        self._n_outputs = count if keep_outputs else 0
        self._batch.fill(range(first, first + count), tokens=tokens, states=states, n_wanted=self._n_outputs)
        self.decode(self._batch)
        self.n_entries += count


def target_layers(model: Model) -> Sequence[int]:
    """Return which layers' inputs of its target the drafter `model` reads."""
    count: int = require_private(N_TARGET_LAYERS)(model.pointer)
    address = require_private(TARGET_LAYERS)(model.pointer)
    return list((ctypes.c_int32 * count).from_address(address)) if count and address else []


def check_width(model: Model, target: Context, tapped: int) -> None:
    """Raise PairUnfit unless the drafter reads states as wide as the target's: llama.cpp would read beyond them."""
    header = model.file.header
    own = header.number(f"{header.architecture}.target_hidden_size") or model.n_embd
    if own * len(target_layers(model)) != tapped:
        raise PairUnfit(
            f"This drafter was made for a model with hidden states of {own} numbers, "
            f"this one's have {target.model.n_embd}.",
            remedy="Choose the drafter that was made for this model.",
        )
