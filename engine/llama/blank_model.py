"""A model of any size whose weights are a hole in a sparse file: zeros that take memory once loaded, but no disk.

It is a real model of the architecture "llama" with very wide layers, so that a token reads its weights and does hardly
anything else. Format: ggml/include/gguf.h.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.models.ggml_types import row_bytes
from engine.models.sparse_file import write_sparse

_Q8_0: Final = 8
_F32: Final = 0
_ALIGNMENT: Final = 32
_WIDTH: Final = 2048
_HEAD_WIDTH: Final = 128
_N_LAYERS: Final = 2
_N_TOKENS: Final = 256 + 3
_LEAST_FF: Final = 256

_U32, _F32_TYPE, _STRING, _ARRAY, _I32 = 4, 6, 8, 9, 5


@dataclass(frozen=True, slots=True)
class BlankTensor:
    name: str
    shape: tuple[int, ...]
    ggml_type: int

    @property
    def n_bytes(self) -> int:
        rows = self.shape[1] if len(self.shape) > 1 else 1
        return (row_bytes(self.ggml_type, self.shape[0]) or 0) * rows


def blank_tensors(size_bytes: int) -> tuple[BlankTensor, ...]:
    """Return the tensors of a model whose weights in the layers take about `size_bytes`, 40 MB at the least."""
    attention = sum(t.n_bytes for t in _layer(0, _LEAST_FF) if ".attn_" in t.name)
    ff_row = 3 * (row_bytes(_Q8_0, _WIDTH) or 0)
    n_ff = max((size_bytes // _N_LAYERS - attention) // ff_row // 256 * 256, _LEAST_FF)
    layers = [tensor for index in range(_N_LAYERS) for tensor in _layer(index, n_ff)]
    ends = [
        BlankTensor("token_embd.weight", (_WIDTH, _N_TOKENS), _Q8_0),
        BlankTensor("output_norm.weight", (_WIDTH,), _F32),
        BlankTensor("output.weight", (_WIDTH, _N_TOKENS), _Q8_0),
    ]
    return (*layers, *ends)


def _layer(index: int, n_ff: int) -> list[BlankTensor]:
    square, up, down = (_WIDTH, _WIDTH), (_WIDTH, n_ff), (n_ff, _WIDTH)
    shapes = {"attn_q": square, "attn_k": square, "attn_v": square, "attn_output": square}
    shapes |= {"ffn_gate": up, "ffn_up": up, "ffn_down": down}
    quantised = [BlankTensor(f"blk.{index}.{name}.weight", shape, _Q8_0) for name, shape in shapes.items()]
    norms = [BlankTensor(f"blk.{index}.{name}.weight", (_WIDTH,), _F32) for name in ("attn_norm", "ffn_norm")]
    return [*quantised, *norms]


def read_bytes_per_token(tensors: tuple[BlankTensor, ...]) -> int:
    """Return what one token reads: everything but the table of embeddings, of which it reads one row."""
    return sum(tensor.n_bytes for tensor in tensors if tensor.name != "token_embd.weight")


def write_blank_model(path: Path, tensors: tuple[BlankTensor, ...]) -> None:
    """Write a model of `tensors`, all of them zero, to `path`; raises NoSparseFiles and OSError."""
    n_ff = next(tensor.shape[1] for tensor in tensors if tensor.name == "blk.0.ffn_up.weight")
    metadata = _metadata(n_ff)
    described, offset = [], 0
    for tensor in tensors:
        shape = b"".join(struct.pack("<Q", n) for n in tensor.shape)
        place = struct.pack("<IQ", tensor.ggml_type, offset)
        described.append(_text(tensor.name) + struct.pack("<I", len(tensor.shape)) + shape + place)
        offset += -(-tensor.n_bytes // _ALIGNMENT) * _ALIGNMENT
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(_text(key) + value for key, value in metadata.items()) + b"".join(described)
    head += b"\0" * (-len(head) % _ALIGNMENT)
    write_sparse(path, head, len(head) + offset)


def _metadata(n_ff: int) -> Mapping[str, bytes]:
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [2, 3, 3, *[6] * 256]  # unknown, control, byte: llama.h, enum llama_token_type
    return {
        "general.architecture": _string("llama"),
        "general.name": _string("blank"),
        "llama.context_length": _u32(1024),
        "llama.embedding_length": _u32(_WIDTH),
        "llama.block_count": _u32(_N_LAYERS),
        "llama.feed_forward_length": _u32(n_ff),
        "llama.attention.head_count": _u32(_WIDTH // _HEAD_WIDTH),
        "llama.attention.layer_norm_rms_epsilon": struct.pack("<If", _F32_TYPE, 1e-5),
        "llama.rope.dimension_count": _u32(_HEAD_WIDTH),
        "tokenizer.ggml.model": _string("llama"),
        "tokenizer.ggml.tokens": _array(_STRING, [_text(token) for token in tokens]),
        "tokenizer.ggml.scores": _array(_F32_TYPE, [struct.pack("<f", 0.0)] * len(tokens)),
        "tokenizer.ggml.token_type": _array(_I32, [struct.pack("<i", kind) for kind in kinds]),
        "tokenizer.ggml.bos_token_id": _u32(1),
        "tokenizer.ggml.eos_token_id": _u32(2),
    }


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _string(value: str) -> bytes:
    return struct.pack("<I", _STRING) + _text(value)


def _u32(value: int) -> bytes:
    return struct.pack("<II", _U32, value)


def _array(element_type: int, items: list[bytes]) -> bytes:
    return struct.pack("<IIQ", _ARRAY, element_type, len(items)) + b"".join(items)
