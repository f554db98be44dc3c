"""Reading GGUF headers: right files, damaged ones, hostile ones."""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import FileGone, NotAModelFile
from engine.models.gguf_header import GgufHeader, LongArray, parse_header, read_header
from tests.engine.models.gguf_writer import ARRAY, STRING, UINT32, gguf, tensor, text

TINY = Path(__file__).parents[2] / "models" / "llama.gguf"


class Bytes:
    """A ByteSource over bytes that counts how far it was read."""

    def __init__(self, data: bytes, size: int | None = None) -> None:
        self._data = data
        self.size = len(data) if size is None else size
        self.furthest = 0

    def read(self, offset: int, n_bytes: int) -> bytes:
        self.furthest = max(self.furthest, offset + n_bytes)
        return self._data[offset : offset + n_bytes]


def parse(data: bytes) -> GgufHeader:
    return parse_header(Bytes(data), "m.gguf")


def test_a_real_models_header_says_what_the_model_is() -> None:
    header = read_header(TINY)
    assert header.architecture == "llama"
    assert header.number("llama.block_count") == 4
    assert header.text("no.such.key") == ""
    assert header.number("no.such.key") == 0
    assert header.is_complete
    assert header.needed_bytes == header.file_bytes == TINY.stat().st_size
    embedding = next(t for t in header.tensors if t.name == "token_embd.weight")
    assert embedding.shape == (64, 384)
    assert embedding.n_bytes == 64 * 384 * 4


def test_values_of_every_kind_are_read() -> None:
    header = parse(
        gguf({"a": 7, "b": "é", "c": ["x", "yz"], "d": [1, 2, 3], "e": struct.pack("<I?", 7, True)})
    )
    assert dict(header.metadata) == {"a": 7, "b": "é", "c": ("x", "yz"), "d": (1, 2, 3), "e": True}


def test_a_long_array_is_skipped_and_where_it_is_remembered() -> None:
    words = [f"token{i}" for i in range(50_000)]
    data = gguf({"tokens": words, "types": list(range(50_000)), "after": 1})
    header = parse(data)
    tokens = header.metadata["tokens"]
    assert isinstance(tokens, LongArray)
    assert (tokens.count, tokens.element_type) == (50_000, STRING)
    assert data[tokens.offset :].startswith(text("token0"))
    assert data[tokens.offset : tokens.offset + tokens.n_bytes].endswith(text("token49999"))
    assert header.number("after") == 1


def test_only_the_header_is_read_of_a_large_source() -> None:
    source = Bytes(gguf({"a": 1}, [tensor("t", [1 << 30])], data_bytes=64), size=5 << 30)
    header = parse_header(source, "m.gguf")
    assert header.is_complete
    assert source.furthest < 1 << 20


def test_a_file_that_is_no_gguf_is_told_so(tmp_path: Path) -> None:
    for data in (b"", b"GG", b"PK\3\4" + b"x" * 100, b"<html>" * 100):
        path = tmp_path / "page.gguf"
        path.write_bytes(data)
        with pytest.raises(NotAModelFile, match=r"“page\.gguf” is not a GGUF file"):
            read_header(path)


def test_a_file_that_ends_before_its_tensors_is_told_how_much_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "half.gguf"
    path.write_bytes(TINY.read_bytes()[:400_000])
    with pytest.raises(NotAModelFile, match=r"cut short: 400\.0 kB are there, it needs 996\.0 kB"):
        read_header(path)


@pytest.mark.parametrize("length", [4, 8, 23, 24, 100, 5000])
def test_a_file_that_ends_within_its_header_is_cut_short(length: int) -> None:
    with pytest.raises(NotAModelFile, match="cut short"):
        parse(TINY.read_bytes()[:length])


@pytest.mark.parametrize(
    "data",
    [
        gguf({}, n_entries=1 << 60),
        gguf({}, n_tensors=1 << 60),
        gguf({"a": struct.pack("<IQ", STRING, 1 << 62)}),
        gguf({"a": struct.pack("<IIQ", ARRAY, STRING, 1 << 61)}),
        gguf({"a": struct.pack("<IIQ", ARRAY, UINT32, 1 << 62)}),
        gguf({"a": struct.pack("<IIQ", ARRAY, ARRAY, 1) + struct.pack("<IQ", UINT32, 0)}),
        gguf({"a": struct.pack("<II", 99, 0)}),
        gguf({"a": struct.pack("<IIQ", ARRAY, 99, 1)}),
        gguf({"general.alignment": 0}),
        gguf({"general.alignment": 33}),
        gguf({"general.alignment": "32"}),
        gguf({}, [tensor("t", [1, 1, 1, 1, 1])]),
        gguf({}, [tensor("t", [1 << 40, 1 << 40])]),
        gguf({}, [tensor("t", [4], offset=1 << 63)]),
        gguf({"a": 1}, version=1),
        gguf({"a": 1}, version=1 << 24),
    ],
)
def test_a_hostile_header_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "hostile.gguf"
    path.write_bytes(data)
    with pytest.raises(NotAModelFile) as caught:
        read_header(path)
    assert caught.value.remedy


def test_a_key_that_is_there_twice_is_refused() -> None:
    once = gguf({"a": 1})
    twice = gguf({"a": 1}, n_entries=2)[:24] + 2 * (text("a") + struct.pack("<II", UINT32, 1))
    assert parse(once).number("a") == 1
    with pytest.raises(NotAModelFile):
        parse(twice)


@given(st.integers(0, 6000), st.binary(min_size=1, max_size=8))
def test_whatever_bytes_are_changed_it_is_read_or_refused(at: int, change: bytes) -> None:
    data = bytearray(TINY.read_bytes()[:20_000])
    data[at : at + len(change)] = change
    header = None
    with suppress(NotAModelFile):
        header = parse_header(Bytes(bytes(data), size=TINY.stat().st_size), "m.gguf")
    assert header is None or header.version in (2, 3)


def test_a_file_that_is_not_there_and_one_that_is_no_file_are_told(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.gguf"
    if hasattr(os, "mkfifo"):
        os.mkfifo(pipe)
    for path in (tmp_path / "gone.gguf", pipe, Path("nul\0.gguf")):
        with pytest.raises(FileGone, match="cannot be opened"):
            read_header(path)
    with pytest.raises(FileGone, match="is a folder"):
        read_header(tmp_path)
