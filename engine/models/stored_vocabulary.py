"""The list of tokens as it stands in a model file: read without llama.cpp, compared without decoding it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from engine.models.gguf_header import GgufHeader, LongArray

_TOKENS: Final = "tokenizer.ggml.tokens"


def stored_count(header: GgufHeader) -> int:
    """Return how many tokens are stored, 0 if none are."""
    tokens = header.metadata.get(_TOKENS)
    if isinstance(tokens, LongArray):
        return tokens.count
    return len(tokens) if isinstance(tokens, tuple) else 0


def read_token_bytes(path: Path, header: GgufHeader) -> bytes:
    """Return the tokens as GGUF stores strings, each with its length before it; b"" if there are none.

    `header` is that of the file at `path`, or of the model whose first part it is.
    """
    tokens = header.metadata.get(_TOKENS)
    if isinstance(tokens, tuple):
        return b"".join(_stored(str(token)) for token in tokens)
    if not isinstance(tokens, LongArray):
        return b""
    try:
        with path.open("rb") as file:
            file.seek(tokens.offset)
            return file.read(tokens.n_bytes)
    except OSError:
        return b""


def split_tokens(stored: bytes) -> list[bytes]:
    """Return the tokens that `read_token_bytes` returned as one."""
    texts, position, unpack = [], 0, struct.Struct("<Q").unpack_from
    while position + 8 <= len(stored):
        end = position + 8 + unpack(stored, position)[0]
        texts.append(stored[position + 8 : end])
        position = end
    return texts


def first_difference(first: Sequence[bytes], second: Sequence[bytes], start: int) -> int | None:
    """Return the first token from `start` on, and in both lists, that they write differently."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((token for token, (a, b) in islice(pairs, start, None) if a != b), None)


def _stored(text: str) -> bytes:
    data = text.encode(errors="replace")
    return struct.pack("<Q", len(data)) + data
