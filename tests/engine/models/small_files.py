"""Model files of a few hundred bytes, for tests that look for models and never load one."""

from __future__ import annotations

from pathlib import Path

from tests.engine.models.gguf_writer import Entry, gguf, tensor

WIDTH = 32
TOKENS = [f"token{index}" for index in range(16)]


def write_model(path: Path, *, n_parts: int = 1, part: int = 0, **metadata: Entry) -> Path:
    """Write a chat model, or one part of one, and return its path."""
    entries: dict[str, Entry] = {
        "general.architecture": "llama",
        "llama.block_count": 3,
        "llama.context_length": 4096,
        "llama.embedding_length": WIDTH,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": TOKENS,
        **{key.replace("__", "."): value for key, value in metadata.items()},
    }
    if n_parts > 1:
        entries |= {"split.no": part, "split.count": n_parts}
    return _write(
        path, gguf(entries, [tensor(f"blk.{part}.attn_norm.weight", [WIDTH])], data_bytes=4 * WIDTH)
    )


def write_eagle3(path: Path, target_width: int = WIDTH) -> Path:
    entries: dict[str, Entry] = {
        "general.architecture": "eagle3",
        "eagle3.block_count": 1,
        "eagle3.embedding_length": WIDTH,
        "eagle3.target_hidden_size": target_width,
        "eagle3.target_layers": [0, 1, 2],
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": TOKENS,
    }
    return _write(path, gguf(entries, [tensor("blk.0.attn_norm.weight", [WIDTH])], data_bytes=4 * WIDTH))


def write_projector(path: Path) -> Path:
    entries: dict[str, Entry] = {"general.architecture": "clip", "general.type": "mmproj"}
    return _write(path, gguf(entries, [tensor("v.blk.0.w", [WIDTH])], data_bytes=4 * WIDTH))


def _write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
