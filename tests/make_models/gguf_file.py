"""Whole model files: the vocabulary of the trained models, and weights as numpy arrays."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from engine.models.gguf_header import read_header
from tests.engine.models.gguf_writer import ARRAY, INT32, Entry, gguf, tensor

TRAINED: Final = Path(__file__).parents[1] / "models"
ALIGNMENT: Final = 32
TOKENS: Final = "tokenizer.ggml.tokens"
_F32, _I64 = 0, 27
_NORMAL: Final = 1
"""llama.cpp's kind of a token that stands for text (LLAMA_TOKEN_TYPE_NORMAL)."""
_GGML_TYPES: Final = {"float32": _F32, "int64": _I64}
_NUMPY_TYPES: Final = {_F32: np.float32, _I64: np.int64}

Weights = dict[str, NDArray[Any]]
"""Tensors by name, in numpy's order of dimensions, which is ggml's reversed."""


def tokenizer(*, with_mask: bool = False, n_more: int = 0) -> dict[str, Entry]:
    """Return the vocabulary of the trained models: 256 bytes, 120 merges and 8 control tokens.

    `with_mask` tells which of them the mask token is, as the trained block drafters do; `n_more` tokens follow them.
    """
    name = "llama-dflash.gguf" if with_mask else "llama.gguf"
    metadata = read_header(TRAINED / name).metadata
    entries: dict[str, Entry] = {}
    for key, value in metadata.items():
        if not key.startswith("tokenizer."):
            continue
        if isinstance(value, tuple) and isinstance(value[0], int):
            # llama.cpp wants the kinds of tokens as signed numbers.
            kinds = (*value, *[_NORMAL] * n_more)
            entries[key] = struct.pack(f"<IIQ{len(kinds)}i", ARRAY, INT32, len(kinds), *kinds)
        elif isinstance(value, tuple):
            more = [f"<|more{i}|>" for i in range(n_more)] if key == TOKENS else []
            entries[key] = [str(item) for item in value] + more
        elif isinstance(value, (str, int)):
            entries[key] = value
    return entries


def write_gguf(path: Path, metadata: Mapping[str, Entry], weights: Mapping[str, NDArray[Any]]) -> Path:
    """Write a GGUF with `metadata` and `weights` (float32 or int64)."""
    infos, blocks, offset = [], [], 0
    for name, array in weights.items():
        infos.append(tensor(name, array.shape[::-1], _GGML_TYPES[array.dtype.name], offset))
        data = array.tobytes()
        blocks.append(data + bytes(-len(data) % ALIGNMENT))
        offset += len(blocks[-1])
    path.write_bytes(gguf(metadata, infos) + b"".join(blocks))
    return path


def write_model(
    path: Path,
    architecture: str,
    settings: Mapping[str, Entry],
    weights: Weights,
    vocabulary: Mapping[str, Entry] | None = None,
) -> Path:
    """Write a model; `settings` are keys of its architecture, `vocabulary` is the trained models' if None."""
    metadata: dict[str, Entry] = {"general.architecture": architecture, "general.name": path.stem}
    metadata |= {f"{architecture}.{key}": value for key, value in settings.items()}
    return write_gguf(path, {**metadata, **(vocabulary or tokenizer())}, weights)


def read_weights(path: Path) -> Weights:
    """Return the tensors of the F32 model at `path`."""
    header, data = read_header(path), path.read_bytes()
    weights: Weights = {}
    for info in header.tensors:
        flat = np.frombuffer(
            data, _NUMPY_TYPES[info.ggml_type], count=info.n_elements, offset=header.data_offset + info.offset
        )
        weights[info.name] = flat.reshape(info.shape[::-1])
    return weights
