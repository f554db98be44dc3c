"""Damaging a GGUF on purpose: values of a good one are replaced, the weights stay where they are."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

_U32_TYPE, _I32_TYPE, _STRING_TYPE, _ARRAY_TYPE = 4, 5, 8, 9


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


def replace_numbers(data: bytes, key: str, values: Sequence[int]) -> bytes:
    """Return `data` with the array of 32-bit numbers of `key` replaced by as many others."""
    for element_type in (_U32_TYPE, _I32_TYPE):
        mark = _string(key) + struct.pack("<IIQ", _ARRAY_TYPE, element_type, len(values))
        if mark in data:
            begin = data.index(mark) + len(mark)
            packed = struct.pack(f"<{len(values)}I", *values)
            return data[:begin] + packed + data[begin + len(packed) :]
    raise ValueError(f"no array of {len(values)} numbers {key}")


def rename(data: bytes, old: str, new: str) -> bytes:
    """Return `data` with the key or tensor `old` called `new`, which is as long: so the old one is missing."""
    assert len(old) == len(new), "the weights would move"
    assert _string(old) in data, old
    return data.replace(_string(old), _string(new))
