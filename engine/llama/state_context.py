"""The context of a drafter that reads its target's hidden states: entries of a cache, made of states and tokens."""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np
from llama_cpp import llama_cpp as api
from numpy.typing import NDArray

from engine.errors import Cancelled, DecodeFailed, PreconditionFailed
from engine.llama.batch import SEQUENCE
from engine.llama.cancel import CancelFlag
from engine.llama.context import Context
from engine.llama.context_settings import ContextSettings
from engine.llama.model import Model
from engine.llama.opening import Beside, open_context
from engine.llama.private import GET_FINAL_STATES, SET_FINAL_STATES, require_private
from engine.llama.state_batch import StateBatch
from engine.llama.symbols import Function, find_symbol

_ABORTED: Final = 2
_FLOAT_BYTES: Final = 4


class StateContext:
    """A drafter's context beside its target's, which lends it embeddings and output where it has none of its own.

    Close it before the target's context is closed: llama.cpp's graphs point into it. `n_entries` is how many entries
    its cache has, at positions from 0 on. Not thread-safe, but for its CancelFlag.
    """

    def __init__(
        self,
        model: Model,
        target: Context,
        settings: ContextSettings,
        cancel: CancelFlag | None = None,
        *,
        is_mtp: bool = False,
    ) -> None:
        """Make a context, of the model's MTP heads if `is_mtp`.

        Raises LoadFailed; DrafterCannotRun where this build of llama.cpp lacks a function.
        """
        self.model = model
        self.cancel = cancel or target.cancel
        # A head may be asked to look back further than it was trained to: its drafts get worse, nothing else.
        n_ctx = settings.n_ctx or target.n_ctx
        beside = Beside(target.pointer, target.uses_flash_attention)
        self._pointer: Any = open_context(
            model, settings, n_ctx, self.cancel, beside=beside, is_mtp=is_mtp
        ).pointer
        self._memory = api.llama_get_memory(self._pointer)
        self.n_ctx = int(api.llama_n_ctx(self._pointer))
        self.n_batch = min(int(api.llama_n_batch(self._pointer)), int(api.llama_n_ubatch(self._pointer)))
        self.n_entries = 0
        self._max_rows = settings.max_rows
        self._n_kept_states = 0
        self._get_logits = find_symbol("llama_get_logits", ctypes.c_void_p, ctypes.c_void_p)
        self._get_final_states: Function | None = None
        model.add_dependent(self)

    @property
    def pointer(self) -> Any:
        """Return llama.cpp's handle; raises PreconditionFailed once the context is closed."""
        if self._pointer is None:
            raise PreconditionFailed("The context is closed.")
        return self._pointer

    @property
    def output_bytes(self) -> int:
        """Return what its rows of logits and states take of main memory, outside of llama.cpp's account."""
        n_floats = self._max_rows * self.model.n_vocab + self._n_kept_states * self.model.n_embd_out
        return _FLOAT_BYTES * n_floats

    @property
    def snapshot_bytes(self) -> int:
        return 0

    def publish_states(self, *, of_wanted_rows_only: bool) -> None:
        """Have every pass keep its final states, for `states`."""
        self._n_kept_states = self._max_rows if of_wanted_rows_only else self.n_batch
        self._get_final_states = require_private(GET_FINAL_STATES)
        require_private(SET_FINAL_STATES)(self.pointer, True, of_wanted_rows_only)

    def decode(self, batch: StateBatch) -> None:
        """Evaluate `batch` at positions from `n_entries` on; the caller counts the entries.

        Raises Cancelled, DecodeFailed or PreconditionFailed; the cache then holds what it held before.
        """
        self._check(batch)
        code = api.llama_decode(self.pointer, batch.raw)
        if code == 0:
            api.llama_synchronize(self._pointer)
            return
        self._remove(self.n_entries)
        _raise_for(code, "llama_decode")

    def encode(self, batch: StateBatch) -> None:
        """Run the model's encoder over `batch`; its cache is not touched. Raises what `decode` raises."""
        self._check(batch)
        code = api.llama_encode(self.pointer, batch.raw)
        if code != 0:
            _raise_for(code, "llama_encode")
        api.llama_synchronize(self._pointer)

    def _check(self, batch: StateBatch) -> None:
        if self.cancel.is_set:
            raise Cancelled("The work was stopped.")
        if not 1 <= batch.raw.n_tokens <= self.n_batch:
            raise PreconditionFailed(f"A pass takes 1 to {self.n_batch} rows, not {batch.raw.n_tokens}.")

    def logit_rows(self, n_rows: int) -> NDArray[np.float32]:
        """Return the logits of the `n_rows` wanted rows of the last pass: shape (n_rows, n_vocab), a view."""
        address = self._get_logits(self.pointer) if self._get_logits is not None else 0
        return _view(address, n_rows, self.model.n_vocab)

    def states(self, n_rows: int) -> NDArray[np.float32]:
        """Return the first `n_rows` final states that the last pass kept: shape (n_rows, n_embd), a view."""
        address = self._get_final_states(self.pointer) if self._get_final_states is not None else 0
        return _view(address, n_rows, self.model.n_embd_out)

    def rewind(self, n_entries: int) -> int:
        """Forget all but the first `n_entries` entries; return how many are left.

        Those are none where a sliding window has lost what the next entry would look at (see Context.rewind).
        """
        if not 0 <= n_entries <= self.n_entries:
            raise PreconditionFailed(f"There are {self.n_entries} entries; {n_entries} cannot be kept.")
        window = self.model.n_swa
        if window and n_entries < self.n_entries:
            oldest: int = api.llama_memory_seq_pos_min(self._memory, SEQUENCE)
            if oldest > max(0, n_entries - window):
                n_entries = 0
        self.n_entries = n_entries
        self._remove(n_entries)
        return self.n_entries

    def _remove(self, n_entries: int) -> None:
        if n_entries == 0 or not api.llama_memory_seq_rm(self._memory, SEQUENCE, n_entries, -1):
            api.llama_memory_clear(self._memory, False)
            self.n_entries = 0

    def close(self) -> None:
        """Free the context; does nothing the second time."""
        if self._pointer is not None:
            self.model.remove_dependent(self)
            api.llama_free(self._pointer)
            self._pointer = None


def _view(address: int | None, n_rows: int, width: int) -> NDArray[np.float32]:
    if not address:
        raise PreconditionFailed("The last pass kept no such rows.")
    floats = (ctypes.c_float * (n_rows * width)).from_address(address)
    return np.ctypeslib.as_array(floats).reshape(n_rows, width)


def _raise_for(code: int, function: str) -> None:
    if code == _ABORTED:
        raise Cancelled("The work was stopped.")
    raise DecodeFailed(
        "llama.cpp could not evaluate the drafter.",
        remedy="If this happens again, choose another drafter, or none.",
        detail=f"{function} returned {code}",
    )
