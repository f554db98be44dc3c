"""A DFlash, DFlash 2 or DSpark drafter on llama.cpp.

`open_block_drafter(model, target, settings) -> (drafter, context)`: `model` is the drafter's file, opened; `target` the
context whose states it reads from now on; `settings` what `drafter_settings` says. Close the context before the
target's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from llama_cpp import llama_cpp as api
from numpy.typing import NDArray

from engine.errors import PairUnfit
from engine.llama.cancel import CancelFlag
from engine.llama.context import Context
from engine.llama.context_settings import ContextSettings
from engine.llama.eagle3_context import check_width, target_layers
from engine.llama.markov_head import MarkovHead
from engine.llama.model import Model
from engine.llama.private import SELECTOR_TOP_K, find_private
from engine.llama.state_batch import StateBatch
from engine.llama.state_context import StateContext
from engine.llama.taps import LayerInputs
from engine.models.gguf_header import GgufHeader
from engine.speculation.block_draft import Block, BlockDrafter, Lattice
from engine.speculation.round import DraftSource

_DEFAULT_BLOCK: Final = 16  # common/speculative.cpp
_ROWS_OF_M_ROPE: Final = 4


def open_block_drafter(
    model: Model, target: Context, settings: ContextSettings, cancel: CancelFlag | None = None
) -> tuple[BlockDrafter, StateContext]:
    """Return a drafter for `target` and its context, warmed up.

    Raises LoadFailed; PairUnfit or DrafterCannotRun where the target does not publish what the drafter reads.
    """
    taps = LayerInputs(target, target_layers(model))
    check_width(model, target, taps.width)
    context = BlockContext(model, target, settings, taps.width, cancel)
    try:
        context.warm_up()
        source = DraftSource.DSPARK if context.shape.is_dspark else DraftSource.DFLASH
        return BlockDrafter(context, taps, target.n_vocab, source), context
    except BaseException:
        context.close()
        raise


@dataclass(frozen=True, slots=True)
class BlockShape:
    """How a block drafter was trained, from its header (src/models/dflash.cpp, common/speculative.cpp).

    With `samples_from_anchor` the row of the last token says the first drafted one, else the first mask's row does.
    `selector_top_k` candidates per place make it a DFlash 2. `logit_scale` 0 and `softcap` 0 change nothing.
    """

    block_size: int
    is_dspark: bool
    samples_from_anchor: bool
    has_confidence_head: bool
    is_causal: bool
    selector_top_k: int
    logit_scale: float
    softcap: float

    @classmethod
    def of(cls, header: GgufHeader, selector_top_k: int) -> Self:
        metadata, tensors = header.metadata, header.tensor_names
        is_dspark = "markov_w1.weight" in tensors
        return cls(
            block_size=header.number("dflash.block_size") or _DEFAULT_BLOCK,
            is_dspark=is_dspark,
            samples_from_anchor=is_dspark and metadata.get("dflash.sample_from_anchor") is not False,
            has_confidence_head=is_dspark and "conf_proj.weight" in tensors,
            is_causal=metadata.get("dflash.attention.causal") is True,
            selector_top_k=selector_top_k,
            logit_scale=_number(metadata.get("dflash.logit_scale")),
            softcap=_number(metadata.get("dflash.final_logit_softcapping")),
        )

    @property
    def n_before(self) -> int:
        """Rows of a block before that of its first drafted token."""
        return 0 if self.samples_from_anchor else 1

    @property
    def max_draft(self) -> int:
        return self.block_size - self.n_before

    @property
    def can_rebias(self) -> bool:
        """Whether logits can be biased anew; what a scale or a cap has been applied to cannot."""
        return self.is_dspark and not self.logit_scale and not self.softcap

    def transformed(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return `logits` with the scale and the cap that the drafter was trained with.

        llama.cpp leaves them out, as they change no argmax; as a distribution they do.
        """
        if self.logit_scale:
            logits = logits * np.float32(self.logit_scale)
        if self.softcap:
            logits = np.tanh(logits / np.float32(self.softcap)) * np.float32(self.softcap)
        return logits


class BlockContext(StateContext):
    """A BlockModel (engine/speculation/block_draft.py) over llama.cpp. `target_width` is that of the tapped states."""

    def __init__(
        self,
        model: Model,
        target: Context,
        settings: ContextSettings,
        target_width: int,
        cancel: CancelFlag | None = None,
    ) -> None:
        mask = api.llama_vocab_mask(api.llama_model_get_vocab(model.pointer))
        if not 0 <= mask < model.n_vocab:
            # llama.cpp ends the process on a token of -1.
            raise PairUnfit(
                "This drafter's file does not say which token its masks are.",
                remedy="Choose another conversion of it.",
                detail="tokenizer.ggml.mask_token_id",
            )
        super().__init__(model, target, settings, cancel)
        top_k = find_private(SELECTOR_TOP_K)
        self.shape = BlockShape.of(model.file.header, top_k(model.pointer) if top_k is not None else 0)
        self._markov = MarkovHead.of(model.file) if self.shape.can_rebias else None
        self.max_draft = min(self.shape.max_draft, self.n_batch - self.shape.n_before)
        self._mask = int(mask)
        is_m_rope = api.llama_model_rope_type(model.pointer) == api.LLAMA_ROPE_TYPE_MROPE
        self._state_batch = StateBatch(self.n_batch, target_width, _ROWS_OF_M_ROPE if is_m_rope else 1)
        self._block_batch = StateBatch(self.n_batch, 0)
        # A pass over a block looks at the whole block, which therefore has to be one pass of one micro batch.
        api.llama_set_causal_attn(self.pointer, self.shape.is_causal)
        if self.shape.selector_top_k or self.shape.has_confidence_head:
            self.publish_states(of_wanted_rows_only=not self.shape.selector_top_k)

    def read(self, states: NDArray[np.float32], tokens: Sequence[int], *, keep_outputs: bool) -> None:
        """Inject the keys and values of `states`: a batch without tokens (src/models/dflash.cpp)."""
        count = len(states)
        self._state_batch.fill(range(self.n_entries, self.n_entries + count), states=states)
        self.decode(self._state_batch)
        self.n_entries += count

    def block(self, token: int, n_draft: int) -> Block | Lattice:
        shape, first = self.shape, self.n_entries
        count = n_draft + shape.n_before
        tokens = [token, *[self._mask] * (count - 1)]
        n_wanted = 0 if shape.selector_top_k else count
        self._block_batch.fill(range(first, first + count), tokens=tokens, n_wanted=n_wanted)
        # The masks leave keys and values of their own, which the caller takes back.
        self.decode(self._block_batch)
        if shape.selector_top_k:
            return self._lattice(self.states(count)[shape.n_before :])
        logits = shape.transformed(self.logit_rows(count)[shape.n_before :])
        if not shape.has_confidence_head:
            return Block(list(logits), rebias=self._markov)
        # The confidence is repeated over the width of a state.
        return Block(list(logits), self.states(count)[shape.n_before :, 0], self._markov)

    def _lattice(self, rows: NDArray[np.float32]) -> Lattice:
        """Return rows of k candidates (numbers of tokens as floats), then k x k scores, then padding."""
        k = self.shape.selector_top_k
        scores = rows[:, k : k + k * k].reshape(len(rows), k, k)
        return Lattice(rows[:, :k].astype(np.int32), scores)

    def warm_up(self) -> None:
        """Reserve every buffer with one long pass of each sort; the cache must be empty."""
        self.read(np.zeros((self.n_batch, self._state_batch.width), np.float32), (), keep_outputs=False)
        self.rewind(0)
        self.block(self._mask, self.max_draft)
        self.rewind(0)


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
