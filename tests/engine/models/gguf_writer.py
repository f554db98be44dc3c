"""Writes small GGUF files byte by byte, right ones and wrong ones."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9

Entry = int | float | str | bytes | list[str] | list[int] | list[bool]


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def value(entry: Entry) -> bytes:
    """Return type and value; bytes are taken for type and value already."""
    if isinstance(entry, bytes):
        return entry
    if isinstance(entry, str):
        return struct.pack("<I", STRING) + text(entry)
    if isinstance(entry, bool):
        return struct.pack("<I?", BOOL, entry)
    if isinstance(entry, int):
        return struct.pack("<II", UINT32, entry)
    if isinstance(entry, float):
        return struct.pack("<If", FLOAT32, entry)
    return _array(entry)


def _array(items: list[str] | list[int] | list[bool]) -> bytes:
    first = items[0] if items else 0
    if isinstance(first, str):
        kind, packed = STRING, b"".join(text(str(item)) for item in items)
    elif isinstance(first, bool):
        kind, packed = BOOL, struct.pack(f"<{len(items)}?", *items)
    else:
        kind, packed = UINT32, struct.pack(f"<{len(items)}I", *items)
    return struct.pack("<IIQ", ARRAY, kind, len(items)) + packed


def tensor(name: str, shape: Sequence[int], ggml_type: int = 0, offset: int = 0) -> bytes:
    head = text(name) + struct.pack("<I", len(shape))
    return head + b"".join(struct.pack("<Q", n) for n in shape) + struct.pack("<IQ", ggml_type, offset)


def gguf(
    metadata: Mapping[str, Entry],
    tensors: Sequence[bytes] = (),
    *,
    data_bytes: int = 0,
    version: int = 3,
    n_tensors: int | None = None,
    n_entries: int | None = None,
) -> bytes:
    head = b"GGUF" + struct.pack(
        "<IQQ",
        version,
        len(tensors) if n_tensors is None else n_tensors,
        len(metadata) if n_entries is None else n_entries,
    )
    head += b"".join(text(key) + value(entry) for key, entry in metadata.items()) + b"".join(tensors)
    return head + b"\0" * (-len(head) % 32) + b"\0" * data_bytes
