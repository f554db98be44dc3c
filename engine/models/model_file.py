"""Checking a file before llama.cpp sees it: it is there, whole, and of the kind that its place needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from engine.errors import FileGone, WrongKindOfFile
from engine.models.file_kind import FileKind, classify
from engine.models.gguf_header import GgufHeader, LongArray, read_header

# common/download.cpp: the name of a part of a model in several files.
_PART: Final = re.compile(r"^(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf$")


class ModelRole(StrEnum):
    """What a file is opened as."""

    TARGET = "model"
    DRAFT_MODEL = "draft model"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file that passed the checks. `file_bytes` covers every part of a model in several files."""

    path: Path
    header: GgufHeader
    kind: FileKind
    file_bytes: int

    def read_array(self, key: str) -> bytes:
        """Return the bytes of a long array of the metadata; b"" if it is short, missing or unreadable."""
        array = self.header.metadata.get(key)
        if not isinstance(array, LongArray):
            return b""
        try:
            with self.path.open("rb") as file:
                file.seek(array.offset)
                return file.read(array.n_bytes)
        except OSError:
            return b""


def check_model_file(path: Path, role: ModelRole = ModelRole.TARGET) -> ModelFile:
    """Read the file's header and return what it is.

    Raises FileGone, NotAModelFile (not a GGUF, damaged, cut short) or WrongKindOfFile.
    """
    header = read_header(path)
    kind = classify(header)
    if not kind.can_answer:
        raise WrongKindOfFile(_refusal(path.name, kind, role), remedy=kind.place, detail=str(path))
    return ModelFile(path, header, kind, header.file_bytes + _other_parts_bytes(path, header))


def _refusal(name: str, kind: FileKind, role: ModelRole) -> str:
    if role is ModelRole.DRAFT_MODEL and kind.is_drafter_only:
        return f"“{name}” is {kind.phrase}, which cannot be used yet; draft models can."
    purpose = "a model that can answer" if role is ModelRole.TARGET else "a draft model"
    return f"“{name}” is {kind.phrase}, not {purpose}."


def _other_parts_bytes(path: Path, header: GgufHeader) -> int:
    """Return the size of the other parts of a model in several files.

    Raises FileGone if one is missing or cut short.
    """
    count = header.number("split.count")
    match = _PART.match(path.name)
    if count <= 1 or match is None:
        return 0
    total = 0
    for number in range(2, count + 1):
        part = path.with_name(f"{match['stem']}-{number:05d}-of-{count:05d}.gguf")
        if not part.is_file():
            raise FileGone(
                f"Part {number} of {count} of this model is missing: “{part.name}”.",
                remedy="Put all parts into one folder, or download the missing one.",
            )
        total += read_header(part).file_bytes
    return total
