"""MTP heads on llama.cpp: inside the target's file, in a sidecar, or an assistant on the target's cells.

`open_mtp(model, target, settings) -> (drafter, context)`: `model` is the heads' file, opened, or the target's own,
opened with them; `target` the context whose states they read from now on; `settings` what `drafter_settings` says.
Close the context before the target's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from llama_cpp import llama_cpp as api

from engine.errors import PairUnfit, PreconditionFailed
from engine.llama.batch import SEQUENCE
from engine.llama.context import Context
from engine.llama.context_settings import ContextSettings
from engine.llama.model import Model
from engine.llama.private import GET_OTHER_CONTEXT, SET_HEAD, require_private
from engine.llama.state_batch import StateBatch
from engine.llama.state_context import StateContext
from engine.llama.taps import FinalStates, States
from engine.models.architectures import GIVES_WANTED_STATES
from engine.speculation.mtp import MtpDrafter
from engine.speculation.protocols import Logits


def open_mtp(model: Model, target: Context, settings: ContextSettings) -> tuple[MtpDrafter, StateContext]:
    """Return a drafter for `target` and its context, warmed up.

    Raises LoadFailed; PairUnfit or DrafterCannotRun where the target does not publish what the heads read.
    """
    states = FinalStates(target)
    context = HeadContext(model, target, settings)
    try:
        context.warm_up()
        return MtpDrafter(context, states, target.n_vocab), context
    except BaseException:
        context.close()
        raise


class HeadContext(StateContext):
    """MtpHeads (engine/speculation/mtp.py) over llama.cpp.

    `n_heads` is more than 1 only for heads that are run one after the other, each a layer of its own over the same
    cells. `shares_cells`: it has none and reads the target's (gemma4-assistant).
    """

    def __init__(self, model: Model, target: Context, settings: ContextSettings) -> None:
        """Make a context; the caller has the target publish its final states.

        Raises LoadFailed, PairUnfit where the widths differ, and DrafterCannotRun where this build lacks a function.
        """
        if model.n_embd_out != target.model.n_embd_out:
            # llama.cpp asserts it (common/speculative.cpp).
            raise PairUnfit(
                "This MTP head was made for another model.", remedy="Choose the one of this model."
            )
        self._select, other = require_private(SET_HEAD), require_private(GET_OTHER_CONTEXT)
        self._target = target
        self.shares_cells = False
        self._first_cell = 0
        super().__init__(model, target, replace(settings, max_rows=1, n_rs_seq=0), is_mtp=True)
        self.width = model.n_embd_out
        self.shares_cells = bool(other(self._pointer))
        n_layers = int(api.llama_model_n_layer_nextn(model.pointer))
        self.n_heads = 1 if self.shares_cells else max(n_layers, 1)
        self._gives_all = model.architecture not in GIVES_WANTED_STATES
        self.publish_states(of_wanted_rows_only=not self._gives_all)
        self._batch = StateBatch(self.n_batch, self.width)
        self._n_states = 0

    @property
    def n_cells(self) -> int:
        """Return the position after the last cell; of shared cells those of the target count."""
        return len(self._target.cached) if self.shares_cells else self.n_entries

    def run(
        self, head: int, tokens: Sequence[int], states: States, first_position: int, wants_row: bool
    ) -> None:
        """Evaluate `tokens` with `states`, shape (n, width), from `first_position` on under `head`; see MtpHeads.

        Raises Cancelled or DecodeFailed; the cells are then those from before.
        """
        count = len(tokens)
        self._check_pass(head, tokens, states, first_position)
        if self.n_heads > 1:
            self._select(self.pointer, head)
        self._n_states = 0
        positions = range(first_position, first_position + count)
        self._batch.fill(positions, tokens=tokens, states=states, n_wanted=int(wants_row))
        self.decode(self._batch)
        if not self.shares_cells:
            self._first_cell = self._first_cell if self.n_entries else first_position
            self.n_entries = first_position + count
        if wants_row:
            self._n_states = count if self._gives_all else 1

    def _check_pass(self, head: int, tokens: Sequence[int], states: States, first_position: int) -> None:
        """Refuse whatever llama.cpp would assert on, read beyond its end or answer with a bare -1."""
        count, end = len(tokens), self.n_cells
        fits = 1 <= count <= self.n_batch and first_position + count <= self.n_ctx
        follows = first_position == end or (end == 0 and not self.shares_cells)
        known = fits and min(tokens) >= 0 and max(tokens) < self.model.n_vocab
        if not (known and follows and states.shape == (count, self.width) and 0 <= head < self.n_heads):
            raise PreconditionFailed(
                f"Head {head} cannot evaluate {count} tokens with states of {states.shape} from {first_position} on; "
                f"the last cell is {end - 1}."
            )

    def rewind(self, n_entries: int) -> int:
        """Forget the cells from position `n_entries` on; return the position after those that are left.

        That is 0 where a sliding window has lost what the next token looks at.
        """
        if self.shares_cells:
            return self.n_cells
        if not 0 <= n_entries <= self.n_entries:
            raise PreconditionFailed(f"There are {self.n_entries} cells; {n_entries} cannot be kept.")
        self._n_states = 0
        if n_entries < self.n_entries:
            self.n_entries = n_entries if self._reaches_back(n_entries) else 0
            self._remove(self.n_entries)
        return self.n_entries

    def _reaches_back(self, n_cells: int) -> bool:
        """Whether every cell is there that the token at `n_cells` looks at; see Context."""
        if n_cells <= self._first_cell:
            return False
        oldest: int = api.llama_memory_seq_pos_min(self._memory, SEQUENCE)
        return self.model.n_swa == 0 or oldest <= max(self._first_cell, n_cells - self.model.n_swa)

    def _remove(self, n_entries: int) -> None:
        # What is shared is the target's.
        if not self.shares_cells:
            super()._remove(n_entries)

    def logits(self) -> Logits:
        """Return the last token's logits: shape (n_vocab,), valid until the next pass."""
        self._require_row()
        row: Logits = self.logit_rows(1)[0]
        return row

    def state(self) -> States:
        """Return the hidden state that goes with the token chosen next: shape (1, width), valid until the next pass."""
        self._require_row()
        return self.states(self._n_states)[-1:]

    def _require_row(self) -> None:
        if not self._n_states:
            raise PreconditionFailed("The last pass of the MTP head kept no row.")

    def warm_up(self) -> None:
        """Touch the weights and reserve every buffer with a short pass; the target must be empty."""
        if self._target.cached or self.n_entries:
            raise PreconditionFailed("Only an empty context can be warmed up.")
        token = self.model.vocabulary.bos or 0
        self.run(0, [token], np.zeros((1, self.width), np.float32), 0, True)
        self.rewind(0)
