"""The context of MTP heads beside their target: inside its file, in a sidecar, or an assistant on its cells."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from llama_cpp import llama_cpp as api
from numpy.typing import NDArray

from engine.errors import Cancelled, DecodeFailed, PairUnfit, PreconditionFailed
from engine.llama.batch import SEQUENCE
from engine.llama.context import Context
from engine.llama.context_settings import ContextSettings
from engine.llama.library import find_symbol
from engine.llama.model import Model
from engine.llama.opening import Beside, open_context
from engine.llama.private import GET_FINAL_STATES, GET_OTHER_CONTEXT, SET_FINAL_STATES, SET_HEAD
from engine.llama.state_batch import StateBatch
from engine.llama.taps import States, require_private
from engine.models.architectures import GIVES_WANTED_STATES
from engine.speculation.protocols import Logits

_ABORTED: Final = 2


class HeadContext:
    """MtpHeads (engine/speculation/mtp.py) over llama.cpp. Not thread-safe, but for the target's CancelFlag.

    `n_heads` is more than 1 only for heads that are run one after the other, each a layer of its own over the same
    cells. `shares_cells`: it has none and reads the target's (gemma4-assistant).
    """

    def __init__(self, model: Model, target: Context, settings: ContextSettings) -> None:
        """Make a context for the MTP heads of `model`, which may be the target's own, opened with them.

        The caller has the target publish its final states. Raises LoadFailed, PairUnfit where the widths differ, and
        DrafterCannotRun where this build lacks a function.
        """
        if model.n_embd_out != target.model.n_embd_out or model.n_vocab < target.n_vocab:
            # llama.cpp asserts the first (common/speculative.cpp).
            raise PairUnfit(
                "This MTP head was made for another model.", remedy="Choose the one of this model."
            )
        switch_on, self._select = require_private(SET_FINAL_STATES), require_private(SET_HEAD)
        self._state_address = require_private(GET_FINAL_STATES)
        other = require_private(GET_OTHER_CONTEXT)
        self.model, self._target = model, target
        beside = Beside(target.pointer, target.uses_flash_attention)
        own = replace(settings, max_rows=1, n_rs_seq=0)
        self._pointer: Any = open_context(
            model, own, target.n_ctx, target.cancel, beside=beside, is_mtp=True
        ).pointer
        self._memory = api.llama_get_memory(self._pointer)
        self.n_ctx = int(api.llama_n_ctx(self._pointer))
        self.n_batch = int(api.llama_n_batch(self._pointer))
        self.width = model.n_embd_out
        self.shares_cells = bool(other(self._pointer))
        n_layers = int(api.llama_model_n_layer_nextn(model.pointer))
        self.n_heads = 1 if self.shares_cells else max(n_layers, 1)
        self._gives_all = model.architecture not in GIVES_WANTED_STATES
        switch_on(self._pointer, True, not self._gives_all)
        self._batch = StateBatch(self.n_batch, self.width)
        self._get_logits = find_symbol("llama_get_logits", ctypes.c_void_p, ctypes.c_void_p)
        self._n_cells, self._first_cell = 0, 0
        self._has_row, self._n_pass = False, 0
        model.add_dependent(self)

    @property
    def n_cells(self) -> int:
        """Return the position after the last cell; of shared cells those of the target count."""
        if self.shares_cells:
            return len(self._target.cached)
        return self._n_cells

    def run(
        self, head: int, tokens: Sequence[int], states: States, first_position: int, wants_row: bool
    ) -> None:
        """Evaluate `tokens` with `states`, shape (n, width), from `first_position` on under `head`; see MtpHeads.

        Raises Cancelled or DecodeFailed; the cells from `first_position` on are then gone.
        """
        count = len(tokens)
        self._check_pass(head, tokens, states, first_position)
        if self.n_heads > 1:
            self._select(self._pointer, head)
        self._has_row = False
        positions = np.arange(first_position, first_position + count, dtype=np.int32)
        self._batch.fill(positions, tokens=tokens, states=states, n_wanted=int(wants_row))
        code = api.llama_decode(self._pointer, self._batch.raw)
        if code == 0:
            api.llama_synchronize(self._pointer)
        else:
            self._undo(first_position, code)
        if not self.shares_cells:
            if self._n_cells == 0:
                self._first_cell = first_position
            self._n_cells = first_position + count
        self._has_row, self._n_pass = wants_row, count

    def _check_pass(self, head: int, tokens: Sequence[int], states: States, first_position: int) -> None:
        """Refuse whatever llama.cpp would assert on, read beyond its end or answer with a bare -1."""
        if self._pointer is None:
            raise PreconditionFailed("The context is closed.")
        if self._target.cancel.is_set:
            raise Cancelled("The work was stopped.")
        count, end = len(tokens), self.n_cells
        fits = 1 <= count <= self.n_batch and first_position + count <= self.n_ctx
        follows = first_position == end or (end == 0 and not self.shares_cells)
        known = fits and min(tokens) >= 0 and max(tokens) < self.model.n_vocab
        if not (known and follows and states.shape == (count, self.width) and 0 <= head < self.n_heads):
            raise PreconditionFailed(
                f"Head {head} cannot evaluate {count} tokens with states of {states.shape} from {first_position} on; "
                f"the last cell is {end - 1}."
            )

    def _undo(self, first_position: int, code: int) -> None:
        """Take what a failed pass left out of the cache and raise what happened."""
        if not self.shares_cells:
            api.llama_memory_seq_rm(self._memory, SEQUENCE, first_position, -1)
        if code == _ABORTED:
            raise Cancelled("The work was stopped.")
        raise DecodeFailed(
            "llama.cpp could not evaluate the MTP head.",
            remedy="Choose another drafter, or none.",
            detail=f"llama_decode returned {code}",
        )

    def rewind(self, n_cells: int) -> bool:
        """Forget the cells from position `n_cells` on; see MtpHeads.

        False where a sliding window has lost what the next token looks at: then every cell is gone.
        """
        if self.shares_cells or n_cells >= self._n_cells:
            return True
        self._has_row = False
        if n_cells > self._first_cell and self._reaches_back(n_cells):
            self._n_cells = n_cells
            return bool(api.llama_memory_seq_rm(self._memory, SEQUENCE, n_cells, -1))
        api.llama_memory_clear(self._memory, False)
        self._n_cells = 0
        return n_cells == 0

    def _reaches_back(self, n_cells: int) -> bool:
        """Whether every cell is there that the token at `n_cells` looks at; see Context."""
        if self.model.n_swa == 0:
            return True
        oldest: int = api.llama_memory_seq_pos_min(self._memory, SEQUENCE)
        return oldest <= max(self._first_cell, n_cells - self.model.n_swa)

    def logits(self) -> Logits:
        """Return the last token's logits over the target's ids: shape (n_target_vocab,), valid until the next pass."""
        self._require_row()
        assert self._get_logits is not None
        row = _floats(self._get_logits(self._pointer), self.model.n_vocab)
        return row[: self._target.n_vocab]

    def state(self) -> States:
        """Return the hidden state that goes with the token chosen next: shape (1, width), valid until the next pass."""
        self._require_row()
        n_rows = self._n_pass if self._gives_all else 1
        rows = _floats(self._state_address(self._pointer), n_rows * self.width)
        return rows.reshape(n_rows, self.width)[-1:]

    def _require_row(self) -> None:
        if not self._has_row:
            raise PreconditionFailed("The last pass of the MTP head kept no row.")

    def warm_up(self) -> None:
        """Touch the weights and reserve every buffer with a short pass; the target must be empty."""
        if self._target.cached or self._n_cells:
            raise PreconditionFailed("Only an empty context can be warmed up.")
        self.run(0, [self.model.vocabulary.bos or 0], np.zeros((1, self.width), np.float32), 0, True)
        self.rewind(0)

    def close(self) -> None:
        """Free the context; does nothing the second time."""
        if self._pointer is not None:
            self.model.remove_dependent(self)
            api.llama_free(self._pointer)
            self._pointer = None
            self._has_row = False


def _floats(address: int, count: int) -> NDArray[np.float32]:
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))
