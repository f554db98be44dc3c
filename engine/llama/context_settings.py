"""How a context is made: the settings, what llama.cpp gets for them, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from llama_cpp import llama_cpp as api

from engine.budget.budget import KvType
from engine.errors import ContextTooLarge, PreconditionFailed
from engine.speculation.settings import MAX_DRAFT_LENGTH

MAX_DEFAULT_CTX: Final = 8192

# enum ggml_type (ggml/include/ggml.h)
_GGML_TYPES: Final = {KvType.F16: 1, KvType.Q8_0: 8, KvType.Q4_0: 2}


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """How a context is made. `n_ctx` 0: the model's own, at most 8192 tokens.

    `max_rows` rows of logits a pass: llama.cpp reserves its compute buffer for that many rows of the whole
    vocabulary. `n_threads` is used for one token and for many alike. `n_batch` bounds a pass, and with it the
    wait for a cancel on devices that cannot be interrupted. `n_rs_seq` snapshots of a running state are kept for
    rolling a draft back, where llama.cpp can do that for the architecture.
    """

    n_ctx: int = 0
    n_threads: int = 4
    max_rows: int = MAX_DRAFT_LENGTH + 1
    n_batch: int = 512
    offload_kqv: bool = True
    kv_type: KvType = KvType.F16
    n_rs_seq: int = 0

    def resolved_n_ctx(self, n_ctx_train: int) -> int:
        return self.n_ctx or min(n_ctx_train or MAX_DEFAULT_CTX, MAX_DEFAULT_CTX)


def context_params(settings: ContextSettings, n_ctx: int) -> Any:
    """Return llama_context_params.

    The memory forecast uses the same ones, so that it counts what is made later.
    """
    params = api.llama_context_default_params()
    params.n_ctx = n_ctx
    params.n_batch = params.n_ubatch = settings.n_batch
    params.n_seq_max = 1
    params.n_rs_seq = settings.n_rs_seq
    # The default reserves n_batch rows of logits: 300 MiB instead of 40 for a vocabulary of 150,000.
    params.n_outputs_max = settings.max_rows
    params.n_outputs_max_per_seq = settings.max_rows
    params.n_threads = params.n_threads_batch = settings.n_threads
    params.flash_attn_type = api.LLAMA_FLASH_ATTN_TYPE_AUTO
    # The default is true (src/llama-context.cpp) although llama.cpp's own tools use false: 5 times the cache.
    params.swa_full = False
    params.offload_kqv = settings.offload_kqv
    # A quantised V switches flash attention on (llama_init_from_model); where that cannot be, no context is made.
    params.type_k = params.type_v = _GGML_TYPES[settings.kv_type]
    params.no_perf = True
    return params


def n_ctx_train_of(model: Any) -> int:
    """Return how far the model at address `model` was trained to look back; 0 is not known.

    llama.cpp keeps 32 bits without a sign and returns them with one.
    """
    return int(api.llama_model_n_ctx_train(model)) & 0xFFFF_FFFF


def refuse_beyond_model(n_ctx: int, n_ctx_train: int) -> None:
    """Raise ContextTooLarge if a model trained for `n_ctx_train` tokens cannot look back `n_ctx`.

    0 is not known.
    """
    if n_ctx > n_ctx_train > 0:
        raise ContextTooLarge(
            f"This model looks back at most {n_ctx_train:,} tokens; a context of {n_ctx:,} was asked for.",
            remedy=f"Choose a context of {n_ctx_train:,} tokens or less.",
        )


def check_settings(settings: ContextSettings, n_ctx: int, n_ctx_train: int) -> None:
    """Refuse what llama.cpp would assert on; raises ContextTooLarge or PreconditionFailed."""
    refuse_beyond_model(n_ctx, n_ctx_train)
    if n_ctx < 1 or settings.n_threads < 1 or not 1 <= settings.max_rows <= settings.n_batch:
        raise PreconditionFailed(f"A context cannot be made with {settings}.")
