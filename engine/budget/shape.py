"""What of a model's header decides how much memory it takes, by llama.cpp's own rules of allocation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from engine.errors import NotAModelFile
from engine.models.gguf_header import GgufHeader, LongArray

# Every n-th layer looks back all the way where the file does not say which (src/models/*.cpp, load_swa_pattern).
_PERIODS: Final = {
    "gemma2": 2,
    "gemma3": 6,
    "gemma3n": 5,
    "gpt-oss": 2,
    "cohere2": 4,
    "exaone4": 4,
    "olmo2": 4,
}
_DEFAULT_INTERVAL: Final = 4
_FLOAT_BYTES: Final = 4
# Measured on vocabularies of 49,000 to 262,000 tokens (docs/budgets.md).
_TOKEN_BYTES: Final = 200
_MERGE_BYTES: Final = 160
_GRAPH_BYTES: Final = 4 << 20
_BLOCK: Final = re.compile(r"blk\.(\d+)\.")
# A header may say anything: these are far above all models there are. llama.cpp takes 512 layers (LLAMA_MAX_LAYERS).
_MAX_LAYERS: Final = 1024
_MAX_NUMBER: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class WindowedLayers:
    """Layers that look back `window` tokens and cache `numbers_per_token`, together."""

    window: int
    numbers_per_token: int


@dataclass(frozen=True, slots=True)
class Shape:
    """`kv_numbers_per_token` are cached by the layers that look back all the way, `state_bytes` is one running state.

    `n_ff` is what a token activates of a layer's width, over the experts that it uses; `n_attention` are the numbers
    of its queries.
    """

    weights_bytes: int
    kv_numbers_per_token: int
    windowed: WindowedLayers | None
    state_bytes: int
    n_embd: int
    n_ff: int
    n_attention: int
    n_vocab: int
    vocabulary_bytes: int


def shape_of(header: GgufHeader) -> Shape:
    """Return the shape of the model with this header, which is that of all its parts together.

    Raises NotAModelFile where no model can have what the header says.
    """
    reader = _Reader(header)
    _require_possible("block_count", reader.n_layers, _MAX_LAYERS)
    full = windowed = 0
    for layer in range(reader.n_layers):
        if not reader.caches(layer):
            continue
        numbers = reader.numbers_per_token(layer)
        if reader.is_windowed(layer):
            windowed += numbers
        else:
            full += numbers
    shape = Shape(
        weights_bytes=sum(t.n_bytes or 0 for t in header.tensors if not reader.is_head_inside(t.name)),
        kv_numbers_per_token=full,
        windowed=WindowedLayers(reader.number("attention.sliding_window"), windowed) if windowed else None,
        state_bytes=reader.state_bytes(),
        n_embd=reader.number("embedding_length"),
        n_ff=reader.n_ff(),
        n_attention=max(map(reader.n_queries, range(reader.n_layers)), default=0),
        n_vocab=_count(header, "tokenizer.ggml.tokens") or reader.number("vocab_size"),
        vocabulary_bytes=vocabulary_bytes(header),
    )
    for name in ("kv_numbers_per_token", "state_bytes", "n_embd", "n_ff", "n_attention", "n_vocab"):
        _require_possible(name, getattr(shape, name), _MAX_NUMBER)
    if shape.windowed is not None:
        _require_possible("window", shape.windowed.window, _MAX_NUMBER)
        _require_possible("windowed", shape.windowed.numbers_per_token, _MAX_NUMBER)
    return shape


def _require_possible(name: str, number: int, most: int) -> None:
    if not 0 <= number <= most:
        raise NotAModelFile(
            "The model is damaged: its header cannot be right.",
            remedy="Download it again.",
            detail=f"{name} is {number}",
        )


def vocabulary_bytes(header: GgufHeader) -> int:
    """Return about what llama.cpp keeps of the vocabulary (a token's text twice over, a merge's rank) and of graphs."""
    n_tokens, n_merges = (_count(header, f"tokenizer.ggml.{what}") for what in ("tokens", "merges"))
    return _GRAPH_BYTES + n_tokens * _TOKEN_BYTES + n_merges * _MERGE_BYTES


def _count(header: GgufHeader, key: str) -> int:
    """Return the length of an array of the metadata, 0 if there is none."""
    value = header.metadata.get(key)
    return value.count if isinstance(value, LongArray) else len(value) if isinstance(value, tuple) else 0


class _Reader:
    """A header's numbers, layer by layer."""

    def __init__(self, header: GgufHeader) -> None:
        self._header = header
        self._prefix = header.architecture
        n_heads_inside = self.number("nextn_predict_layers")
        self.n_layers = max(self.number("block_count") - n_heads_inside, 0)

    def number(self, key: str) -> int:
        return self._header.number(f"{self._prefix}.{key}")

    def of_layer(self, key: str, layer: int) -> int | None:
        """Return a number that is one for all layers or one for each; None if there is none."""
        value = self._header.metadata.get(f"{self._prefix}.{key}")
        if isinstance(value, tuple):
            item = value[layer] if layer < len(value) else None
            return int(item) if isinstance(item, (int, bool)) else None
        return int(value) if isinstance(value, int) else None

    def is_head_inside(self, tensor: str) -> bool:
        """Whether `tensor` belongs to an MTP head, which is left out unless it is to draft."""
        block = _BLOCK.match(tensor)
        return block is not None and int(block[1]) >= self.n_layers

    def is_recurrent(self, layer: int) -> bool:
        """Whether the layer keeps a running state in place of a cache."""
        if not self._state_numbers():
            return False
        heads = self._header.metadata.get(f"{self._prefix}.attention.head_count_kv")
        if isinstance(heads, tuple):
            return self.of_layer("attention.head_count_kv", layer) == 0
        if not self.number("attention.head_count"):
            return True
        interval = self.number("full_attention_interval") or _DEFAULT_INTERVAL
        return (layer + 1) % interval != 0

    def caches(self, layer: int) -> bool:
        shared = self.number("attention.shared_kv_layers")
        return not self.is_recurrent(layer) and layer < self.n_layers - shared

    def is_windowed(self, layer: int) -> bool:
        if not self.number("attention.sliding_window"):
            return False
        pattern = self._header.metadata.get(f"{self._prefix}.attention.sliding_window_pattern")
        if isinstance(pattern, tuple):
            return bool(self.of_layer("attention.sliding_window_pattern", layer))
        period = pattern if isinstance(pattern, int) else _PERIODS.get(self._prefix, 1)
        return period > 1 and layer % period < period - 1

    def numbers_per_token(self, layer: int) -> int:
        """Return how many numbers the layer caches for a token: keys and values, or one row for all heads (MLA)."""
        n_heads = self.of_layer("attention.head_count", layer) or 1
        n_kv_heads = self.of_layer("attention.head_count_kv", layer)
        head = self.number("embedding_length") // n_heads
        suffix = "_swa" if self.is_windowed(layer) else ""
        key = self._head("key_length", suffix, head)
        if self.number("attention.key_length_mla"):
            return key
        return (n_heads if n_kv_heads is None else n_kv_heads) * (
            key + self._head("value_length", suffix, head)
        )

    def n_queries(self, layer: int) -> int:
        n_heads = self.of_layer("attention.head_count", layer) or 0
        head = self.number("embedding_length") // max(n_heads, 1)
        return n_heads * (self.number("attention.key_length") or head)

    def _head(self, key: str, suffix: str, default: int) -> int:
        plain = self.number(f"attention.{key}") or default
        return self.number(f"attention.{key}{suffix}") or plain if suffix else plain

    def _state_numbers(self) -> int:
        """Return the numbers of one layer's running state (llama_hparams::n_embd_r and n_embd_s)."""
        if self.number("shortconv.l_cache"):
            return self.number("embedding_length") * (self.number("shortconv.l_cache") - 1)
        inner, state = self.number("ssm.inner_size"), self.number("ssm.state_size")
        width = inner + 2 * self.number("ssm.group_count") * state
        return max(self.number("ssm.conv_kernel") - 1, 0) * width + state * inner

    def state_bytes(self) -> int:
        n_layers = sum(self.is_recurrent(layer) for layer in range(self.n_layers))
        return n_layers * self._state_numbers() * _FLOAT_BYTES

    def n_ff(self) -> int:
        dense = self.of_layer("feed_forward_length", 0) or 0
        experts = self.number("expert_used_count") * (self.of_layer("expert_feed_forward_length", 0) or 0)
        return max(dense if not experts else 0, experts + self.number("expert_shared_feed_forward_length"))
