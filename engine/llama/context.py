"""A context: one cached sequence of tokens on a loaded model, extended, rewound and read row by row."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from llama_cpp import llama_cpp as api
from numpy.typing import NDArray

from engine.errors import Cancelled, DecodeFailed, PreconditionFailed, PromptTooLong
from engine.llama.batch import SEQUENCE, TokenBatch
from engine.llama.cancel import CancelFlag
from engine.llama.context_settings import ContextSettings, check_settings
from engine.llama.library import find_symbol
from engine.llama.model import Model
from engine.llama.opening import open_context
from engine.llama.snapshots import Moment, Snapshots
from engine.speculation.protocols import Logits

__all__ = ["Context", "ContextSettings"]

_ABORTED: Final = 2
_FLOAT_BYTES: Final = 4


class Context:
    """A CausalModel and Target (engine/speculation/protocols.py) over llama.cpp.

    Not thread-safe, but for its CancelFlag.
    """

    def __init__(self, model: Model, settings: ContextSettings, cancel: CancelFlag | None = None) -> None:
        """Make a context; raises LoadFailed, ContextTooLarge if the model cannot look back that far."""
        self.model = model
        self.cancel = cancel or CancelFlag()
        n_ctx = settings.resolved_n_ctx(model.n_ctx_train)
        check_settings(settings, n_ctx, model.n_ctx_train)
        self._pointer: Any
        self._pointer, self.uses_flash_attention = open_context(model, settings, n_ctx, self.cancel)
        self._memory = api.llama_get_memory(self._pointer)
        self.n_ctx = int(api.llama_n_ctx(self._pointer))
        self.n_batch = int(api.llama_n_batch(self._pointer))
        self.max_rows = settings.max_rows
        self.n_vocab = model.n_vocab
        self._cached: list[int] = []
        self._n_rows = 0
        self.n_pass = 0
        """Tokens of the last pass, whose rows can be read; 0 after anything else than a pass."""
        self.tapped_width = 0
        """Numbers of hidden states that are read out for each token of a pass."""
        self._batch = TokenBatch(self.n_batch, self.n_ctx)
        self._get_logits = find_symbol("llama_get_logits", ctypes.c_void_p, ctypes.c_void_p)
        self._rows_address = 0
        self._rows: NDArray[np.float32] = np.zeros((0, 0), np.float32)
        self._snapshots = Snapshots(self._pointer) if model.restarts_on_rewind else None
        self._n_rs_seq = int(api.llama_n_rs_seq(self._pointer))
        self._n_states_back = 0
        """Tokens that a running state can be rolled back over now: those of the last pass, once."""
        model.add_dependent(self)

    @property
    def cached(self) -> Sequence[int]:
        return self._cached

    @property
    def pointer(self) -> Any:
        """Return llama.cpp's handle; raises PreconditionFailed once the context is closed."""
        if self._pointer is None:
            raise PreconditionFailed("The context is closed.")
        return self._pointer

    @property
    def output_bytes(self) -> int:
        """Return what rows of logits and hidden states take of main memory, outside of llama.cpp's account."""
        return _FLOAT_BYTES * (self.max_rows * self.n_vocab + self.n_batch * self.tapped_width)

    @property
    def snapshot_bytes(self) -> int:
        """Return what running states that were set aside take of main memory."""
        return self._snapshots.n_bytes if self._snapshots is not None else 0

    def is_end_of_answer(self, token: int) -> bool:
        return self.model.vocabulary.is_end_of_answer(token)

    # ----------------------------------------------------------------------------------------- evaluating

    def extend(self, tokens: Sequence[int], n_rows: int) -> None:
        """Evaluate `tokens` after the cached ones and keep logits of the last `n_rows`; see CausalModel.

        Returns when the pass is complete, on a GPU too. Raises Cancelled, DecodeFailed, PromptTooLong or
        PreconditionFailed; the cache then holds what it held before. Only a model with a running state
        (`Model.restarts_on_rewind`) goes back to the last state that was set aside: the cache then holds the
        tokens that led there, or none.
        """
        count = len(tokens)
        first = len(self._cached)
        self._check_pass(tokens, count, first, n_rows)
        if count == 1:
            self._batch.fill_one(tokens[0], first, n_rows == 1)
        else:
            self._batch.fill(tokens, first, n_rows)
        self.forget_pass()
        if self._snapshots is not None and n_rows - 1 > self._n_rs_seq:
            self._snapshots.take(Moment.BEFORE_DRAFT, first)
        code = api.llama_decode(self._pointer, self._batch.raw)
        if code == 0:
            # On a GPU a pass has only been queued; times would be those of the next call otherwise.
            api.llama_synchronize(self._pointer)
        else:
            self._undo(first, code)
        self._cached.extend(tokens)
        self._n_rows, self.n_pass = n_rows, count
        self._n_states_back = min(self._n_rs_seq, count - 1)
        if self._snapshots is not None and n_rows == 1 and count > 1:
            self._snapshots.take(Moment.PROMPT_END, first + count)

    def _check_pass(self, tokens: Sequence[int], count: int, first: int, n_rows: int) -> None:
        """Refuse whatever llama.cpp would assert on or answer with a bare -1."""
        if self._pointer is None:
            raise PreconditionFailed("The context is closed.")
        if self.cancel.is_set:
            raise Cancelled("The work was stopped.")
        if not 1 <= count <= self.n_batch:
            raise PreconditionFailed(f"A pass takes 1 to {self.n_batch} tokens, not {count}.")
        if first + count > self.n_ctx:
            raise PromptTooLong(
                f"{first + count} tokens do not fit the context of {self.n_ctx}.",
                remedy="Shorten the text, or choose a longer context.",
            )
        if not 0 <= n_rows <= min(count, self.max_rows):
            raise PreconditionFailed(
                f"A pass over {count} tokens gives up to {self.max_rows} rows, not {n_rows}."
            )
        lowest, highest = (tokens[0], tokens[0]) if count == 1 else (min(tokens), max(tokens))
        if lowest < 0 or highest >= self.n_vocab:
            raise PreconditionFailed(
                f"Tokens {lowest} to {highest} are outside the vocabulary of {self.n_vocab}."
            )

    def _undo(self, n_tokens: int, code: int) -> None:
        """Take a failed pass back out of the cache and raise what happened.

        A running state may have been left half-way, and so may what llama.cpp would roll it back to.
        """
        if self._snapshots is not None:
            kept = self._restore(n_tokens)
            del self._cached[kept:]
            if kept == 0:
                self.clear()
        elif not api.llama_memory_seq_rm(self._memory, SEQUENCE, n_tokens, -1):
            self.clear()
        if code == _ABORTED:
            raise Cancelled("The work was stopped.")
        raise DecodeFailed(
            "llama.cpp could not evaluate the text.",
            remedy="If this happens again, choose a shorter context or fewer layers on the GPU.",
            detail=f"llama_decode returned {code}",
        )

    def logits(self, row: int) -> Logits:
        """Return a view of row `row` of the last pass: shape (n_vocab,), float32, overwritten by the next
        pass.
        """
        if not 0 <= row < self._n_rows or self._get_logits is None:
            raise PreconditionFailed(f"The last pass kept {self._n_rows} rows; row {row} is not among them.")
        address = self._get_logits(self._pointer)
        if address != self._rows_address:
            size = self.max_rows * self.n_vocab
            floats = (ctypes.c_float * size).from_address(address)
            self._rows = np.ctypeslib.as_array(floats).reshape(self.max_rows, self.n_vocab)
            self._rows_address = address
        kept: Logits = self._rows[row]
        return kept

    # ------------------------------------------------------------------------------------------ forgetting

    def rewind(self, n_tokens: int) -> None:
        """Forget all but the first `n_tokens` cached tokens.

        Where llama.cpp cannot go back that far (a running state; a sliding window whose older cells are gone)
        kept tokens are evaluated again: those after the last snapshot of a running state, else all of them,
        which costs their prefill. Raises Cancelled then, with fewer tokens cached.
        """
        count = len(self._cached)
        if not 0 <= n_tokens <= count:
            raise PreconditionFailed(f"{count} tokens are cached; {n_tokens} of them cannot be kept.")
        if n_tokens == count:
            return
        self.forget_pass()
        if n_tokens == 0:
            self.clear()
        elif self._reaches_back(n_tokens) and api.llama_memory_seq_rm(self._memory, SEQUENCE, n_tokens, -1):
            self._n_states_back = 0
            if self._snapshots is not None:
                self._snapshots.forget_after(n_tokens)
            del self._cached[n_tokens:]
        else:
            self._evaluate_again(n_tokens)

    def _reaches_back(self, n_tokens: int) -> bool:
        """Whether every cell that the token after the first `n_tokens` looks at is still there.

        A sliding-window cache reuses cells that left the window. llama.cpp guarantees that all positions from
        seq_pos_min on are present (llama.h), and removes the rest without a word
        (src/llama-kv-cache-iswa.cpp, seq_rm). A running state is rolled back once after a pass, over tokens of
        that pass alone: beyond them llama.cpp would take a state of another pass for theirs
        (src/llama-memory-recurrent.cpp, seq_rm).
        """
        if self._snapshots is not None and len(self._cached) - n_tokens > self._n_states_back:
            return False
        if self.model.n_swa == 0:
            return True
        oldest: int = api.llama_memory_seq_pos_min(self._memory, SEQUENCE)
        return oldest <= max(0, n_tokens - self.model.n_swa)

    def _evaluate_again(self, n_tokens: int) -> None:
        kept = self._cached[:n_tokens]
        first = self._restore(n_tokens)
        if first == 0:
            self.clear()
        del self._cached[first:]
        for start in range(first, n_tokens, self.n_batch):
            self.extend(kept[start : start + self.n_batch], 0)

    def _restore(self, n_tokens: int) -> int:
        """Go back to a snapshot of at most `n_tokens` tokens; return how many it had, 0 if there is none."""
        first = self._snapshots.restore(n_tokens) if self._snapshots is not None else 0
        self._n_states_back = 0
        if first and not api.llama_memory_seq_rm(self._memory, SEQUENCE, first, -1):
            return 0
        return first

    def clear(self) -> None:
        """Forget everything."""
        api.llama_memory_clear(api.llama_get_memory(self.pointer), False)
        self._cached.clear()
        self._n_states_back = 0
        self.forget_pass()
        if self._snapshots is not None:
            self._snapshots.forget()

    def forget_pass(self) -> None:
        """Have nothing of the last pass read any more: what its rows point at is not its own, or was never made."""
        self._n_rows = self.n_pass = 0

    def warm_up(self) -> None:
        """Touch the weights and reserve every buffer with two short passes; the cache must be empty.

        llama.cpp grows its buffer of logits with the rows asked for: after this it never moves.
        """
        if self._cached:
            raise PreconditionFailed("Only an empty context can be warmed up.")
        token = self.model.vocabulary.bos or 0
        self.extend([token], 1)
        self.extend([token] * min(self.max_rows + 1, self.n_batch), self.max_rows)
        self.clear()

    def close(self) -> None:
        """Free the context; does nothing the second time. Rows that `logits` returned are gone."""
        if self._pointer is not None:
            self.model.remove_dependent(self)
            api.llama_free(self._pointer)
            self._pointer = None
            self.forget_pass()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
