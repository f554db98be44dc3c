"""Damaging a GGUF on purpose: values of a good one are replaced, the weights stay where they are."""

from __future__ import annotations

import struct
from collections.abc import Mapping

_U32_TYPE, _STRING_TYPE = 4, 8


def replace_strings(data: bytes, values: Mapping[str, str]) -> bytes:
    """Return `data` with the string of each key replaced; together they must be as long as the old ones."""
    size = len(data)
    for key, value in values.items():
        begin, end = _place(data, key)
        data = data[: begin - 8] + _string(value) + data[end:]
    assert len(data) == size, "the weights have moved"
    return data


def fill_string(data: bytes, key: str, value: str) -> bytes:
    """Return `data` with the string of `key` replaced by `value`, padded with spaces to the old length."""
    begin, end = _place(data, key)
    return replace_strings(data, {key: value.ljust(end - begin)})


def _place(data: bytes, key: str) -> tuple[int, int]:
    mark = _string(key) + struct.pack("<I", _STRING_TYPE)
    start = data.index(mark) + len(mark)
    (length,) = struct.unpack_from("<Q", data, start)
    return start + 8, start + 8 + length


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def replace_u32(data: bytes, key: str, value: int) -> bytes:
    """Return `data` with the 32-bit number of `key` replaced."""
    mark = _string(key) + struct.pack("<I", _U32_TYPE)
    begin = data.index(mark) + len(mark)
    return data[:begin] + struct.pack("<I", value) + data[begin + 4 :]
