"""A model in several files: their names, their headers, and what they say together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from engine.errors import FileGone
from engine.models.gguf_header import GgufHeader, read_header

# common/download.cpp: the name of a part of a model in several files.
_PART: Final = re.compile(r"^(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf$", re.IGNORECASE)
MAX_PARTS: Final = 1000


def part_of(name: str) -> tuple[str, int, int] | None:
    """Return stem, number (from 1) and count that the file name `name` tells; None for a model in one file."""
    match = _PART.match(name)
    return None if match is None else (match["stem"], int(match["number"]), int(match["count"]))


def part_names(name: str) -> tuple[str, ...]:
    """Return the names of all parts of the model whose first part is `name`: itself alone for one in one file."""
    told = part_of(name)
    if told is None or not 1 < told[2] <= MAX_PARTS:
        return (name,)
    stem, _, count = told
    suffix = name[-len(".gguf") :]
    return tuple(f"{stem}-{number:05d}-of-{count:05d}{suffix}" for number in range(1, count + 1))


def part_paths(path: Path, header: GgufHeader) -> tuple[Path, ...]:
    """Return the paths of all parts of the model whose first part is at `path`.

    Raises FileGone if one is missing.
    """
    names = part_names(path.name) if header.number("split.count") > 1 else (path.name,)
    paths = (path, *(path.with_name(name) for name in names[1:]))
    for number, part in enumerate(paths[1:], start=2):
        if not part.is_file():
            raise FileGone(
                f"Part {number} of {len(paths)} of this model is missing: “{part.name}”.",
                remedy="Put all parts into one folder, or download the missing one.",
            )
    return paths


def read_parts(path: Path, first: GgufHeader) -> tuple[GgufHeader, ...]:
    """Return the headers of all parts of the model whose first part, at `path`, has the header `first`.

    Raises FileGone if one is missing, and what read_header raises.
    """
    return (first, *(read_header(part) for part in part_paths(path, first)[1:]))


def join_parts(headers: Sequence[GgufHeader]) -> GgufHeader:
    """Return one header that says what all parts say: the first one's metadata, every tensor, all bytes.

    Offsets in it are those of the tensors' own files.
    """
    first = headers[0]
    if len(headers) == 1:
        return first
    metadata = {key: value for key, value in first.metadata.items() if not key.startswith("split.")}
    return replace(
        first,
        metadata=MappingProxyType(metadata),
        tensors=tuple(tensor for header in headers for tensor in header.tensors),
        file_bytes=sum(header.file_bytes for header in headers),
    )
