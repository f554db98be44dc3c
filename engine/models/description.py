"""What is told about a loaded model and about what it can compute on."""

from __future__ import annotations

import msgspec


class Device(msgspec.Struct, frozen=True):
    """A compute device as ggml sees it; `kind` is "cpu", "gpu", "igpu", "accel" or "meta". 0 bytes: not known."""

    name: str
    description: str
    kind: str
    memory_free_bytes: int
    memory_total_bytes: int

    @property
    def is_apple_gpu(self) -> bool:
        """Whether it is Metal (ggml/src/ggml-metal names its devices MTL0, older builds Metal)."""
        return self.kind == "gpu" and self.name.startswith(("MTL", "Metal"))


class LoadedModel(msgspec.Struct, frozen=True):
    """What llama.cpp says about a loaded model; `n_layers_offloaded` is what really went to a GPU."""

    path: str
    name: str
    architecture: str
    n_params: int
    n_vocab: int
    n_layers: int
    n_layers_offloaded: int
    n_ctx_train: int
    file_bytes: int
    has_chat_template: bool
