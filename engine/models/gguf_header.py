"""Reading a GGUF's header, metadata and tensor descriptions, from anything that gives bytes.

Every count, length and offset in the file is taken for hostile: it is compared with what the source really
holds before anything is allocated or read. Format: ggml/include/gguf.h, ggml/src/gguf.cpp.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Final

from engine.errors import FileGone, NotAModelFile
from engine.models.ggml_types import row_bytes
from engine.models.header_cursor import ByteSource, FileSource, HeaderCursor, Scalar, cut_short, size_words

MAGIC: Final = b"GGUF"
MAX_ENTRIES: Final = 1 << 16
MAX_TENSORS: Final = 1 << 15
MAX_DIMENSIONS: Final = 4
SHORT_ARRAY: Final = 4096
MAX_KEPT_ELEMENTS: Final = 1 << 17
"""All elements of the arrays that are kept, together; the arrays after that are skipped like long ones."""
DEFAULT_ALIGNMENT: Final = 32

_STRING, _ARRAY = 8, 9
# By the number of dimensions: the shape, the type and the offset.
_TENSOR_TAILS: Final = tuple(struct.Struct(f"<{n}QIQ") for n in range(MAX_DIMENSIONS + 1))


@dataclass(frozen=True, slots=True)
class LongArray:
    """An array that was skipped: `count` elements of GGUF type `element_type`, `n_bytes` bytes at file offset
    `offset`.
    """

    element_type: int
    count: int
    offset: int
    n_bytes: int


Value = Scalar | tuple[Scalar, ...] | LongArray


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor: `shape` in ggml's order (row length first), `offset` in bytes from the start of the tensor
    data.
    """

    name: str
    shape: tuple[int, ...]
    ggml_type: int
    offset: int

    @property
    def n_elements(self) -> int:
        return prod(self.shape)

    @property
    def n_bytes(self) -> int | None:
        """Return the tensor's size in bytes; None for a ggml type that is not known here."""
        row = row_bytes(self.ggml_type, self.shape[0] if self.shape else 1)
        return None if row is None else row * prod(self.shape[1:])


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What a GGUF says about itself.

    `data_offset` is where the tensor data begins, `file_bytes` what is really there.
    """

    version: int
    metadata: Mapping[str, Value]
    tensors: tuple[TensorInfo, ...]
    data_offset: int
    file_bytes: int

    @property
    def architecture(self) -> str:
        return self.text("general.architecture")

    @property
    def tensor_names(self) -> frozenset[str]:
        return frozenset(tensor.name for tensor in self.tensors)

    @property
    def tensor_bytes(self) -> int:
        return sum(tensor.n_bytes or 0 for tensor in self.tensors)

    @property
    def needed_bytes(self) -> int:
        """Return how long the file must at least be to hold every tensor."""
        return max(
            (self.data_offset + t.offset + (t.n_bytes or 0) for t in self.tensors), default=self.data_offset
        )

    @property
    def is_complete(self) -> bool:
        return self.file_bytes >= self.needed_bytes

    def text(self, key: str) -> str:
        """Return the string under `key`, "" if there is none."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key: str) -> int:
        """Return the whole number under `key`, 0 if there is none."""
        value = self.metadata.get(key)
        return value if isinstance(value, int) else 0


def read_header(path: Path) -> GgufHeader:
    """Read the header of the file at `path`.

    Raises FileGone if it cannot be opened, NotAModelFile if it is not a GGUF, damaged, or shorter than its
    tensors need.
    """
    try:
        # Opening a pipe would wait for a writer for ever.
        source = FileSource(path) if path.is_file() else None
        reason = "not a file, or none at all"
        if path.is_dir():
            raise FileGone(
                f"“{path.name or path}” is a folder.", remedy="Choose a GGUF file in it.", detail=str(path)
            )
    except (OSError, ValueError) as error:
        source, reason = None, str(error)
    if source is None:
        raise FileGone(
            f"The file “{path.name}” cannot be opened.",
            remedy="It may have been moved, renamed or deleted. Choose it again.",
            detail=f"{path}: {reason}",
        )
    try:
        header = parse_header(source, path.name)
    except OSError as error:
        raise FileGone(f"The file “{path.name}” cannot be read.", detail=f"{path}: {error}") from error
    finally:
        source.close()
    check_complete(header, path.name)
    return header


def check_complete(header: GgufHeader, name: str) -> None:
    """Raise NotAModelFile if the file ends before its last tensor does."""
    if not header.is_complete:
        raise cut_short(name, header.file_bytes, size_words(header.needed_bytes))


def not_gguf(name: str) -> NotAModelFile:
    """Return the error for the file `name`, which begins like something else."""
    return NotAModelFile(
        f"“{name}” is not a GGUF file.",
        remedy="Choose a model in GGUF format: its name usually ends in .gguf.",
    )


def parse_header(source: ByteSource, name: str) -> GgufHeader:
    """Parse the header of `source`, which people know as `name`; raises NotAModelFile."""
    cursor = HeaderCursor(source, name)
    if source.size < 4 or cursor.take(4) != MAGIC:
        raise not_gguf(name)
    version = cursor.u32()
    if not 2 <= version <= 3:
        shown = f"version {version}" if version < 1 << 16 else "an unknown version"
        raise NotAModelFile(
            f"“{name}” is a GGUF of {shown}, which cannot be read here.",
            remedy="Download a newer conversion of the model.",
        )
    n_tensors, n_entries = cursor.u64(), cursor.u64()
    if n_tensors > MAX_TENSORS or n_entries > MAX_ENTRIES:
        raise cursor.damaged(f"{n_tensors} tensors and {n_entries} metadata entries")
    metadata = _read_metadata(cursor, n_entries)
    tensors = tuple(_read_tensor(cursor) for _ in range(n_tensors))
    alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
        raise cursor.damaged(f"alignment {alignment!r}")
    data_offset = -(-cursor.position // alignment) * alignment
    return GgufHeader(version, MappingProxyType(metadata), tensors, data_offset, source.size)


def _read_metadata(cursor: HeaderCursor, count: int) -> dict[str, Value]:
    metadata: dict[str, Value] = {}
    n_kept = 0
    for _ in range(count):
        key = cursor.string()
        if key in metadata:
            raise cursor.damaged(f"the key {key[:99]!r} is there twice")
        value = metadata[key] = _read_value(cursor, cursor.u32(), MAX_KEPT_ELEMENTS - n_kept)
        n_kept += len(value) if isinstance(value, tuple) else 0
    return metadata


def _read_value(cursor: HeaderCursor, value_type: int, n_left: int) -> Value:
    if value_type == _STRING:
        return cursor.string()
    if value_type == _ARRAY:
        return _read_array(cursor, cursor.u32(), cursor.u64(), min(n_left, SHORT_ARRAY))
    return cursor.scalar(value_type)


def _read_array(cursor: HeaderCursor, element_type: int, count: int, most: int) -> Value:
    # gguf.cpp refuses arrays of arrays as well, so a file cannot nest without bound.
    if element_type == _ARRAY:
        raise cursor.damaged("an array of arrays")
    smallest = 8 if element_type == _STRING else struct.calcsize("<" + cursor.format_of(element_type))
    cursor.expect(count * smallest)
    start = cursor.position
    if count <= most:
        if element_type == _STRING:
            return tuple(cursor.string() for _ in range(count))
        return cursor.scalars(element_type, count)
    if element_type == _STRING:
        cursor.skip_strings(count)
    else:
        cursor.skip(count * smallest)
    return LongArray(element_type, count, start, cursor.position - start)


def _read_tensor(cursor: HeaderCursor) -> TensorInfo:
    name = cursor.string()
    n_dims = cursor.u32()
    if n_dims > MAX_DIMENSIONS:
        raise cursor.damaged(f"the tensor {name[:99]!r} has {n_dims} dimensions")
    *shape, ggml_type, offset = cursor.unpack(_TENSOR_TAILS[n_dims])
    if prod(shape) >= 1 << 63:
        raise cursor.damaged(f"the tensor {name[:99]!r} has the shape {shape}")
    return TensorInfo(name, tuple(shape), ggml_type, offset)
