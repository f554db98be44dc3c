"""Checking a file before llama.cpp sees it: it is there, whole, and of the kind that its place needs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from engine.errors import UnknownArchitecture, WrongKindOfFile
from engine.models.file_kind import FileKind, classify
from engine.models.gguf_header import GgufHeader, LongArray, read_header
from engine.models.parts import join_parts, read_parts


class ModelRole(StrEnum):
    """What a file is opened as: a target, a whole model that drafts, or anything that drafts, heads included."""

    TARGET = "model"
    DRAFT_MODEL = "draft model"
    DRAFTER = "drafter"


_PURPOSES: Final = {
    ModelRole.TARGET: "a model that can answer",
    ModelRole.DRAFT_MODEL: "a draft model",
    ModelRole.DRAFTER: "a drafter",
}


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file that passed the checks. `header` and `file_bytes` cover every part of a model in several files."""

    path: Path
    header: GgufHeader
    kind: FileKind

    @property
    def file_bytes(self) -> int:
        return self.header.file_bytes

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

    Raises FileGone, NotAModelFile (not a GGUF, damaged, cut short), UnknownArchitecture or WrongKindOfFile.
    """
    header = read_header(path)
    kind = classify(header)
    if kind.can_answer:
        header = join_parts(read_parts(path, header))
        kind = classify(header)
    if kind is FileKind.UNKNOWN:
        raise unknown_architecture(path.name, header.architecture)
    if kind.can_answer or (role is ModelRole.DRAFTER and kind.is_drafter_only):
        return ModelFile(path, header, kind)
    raise WrongKindOfFile(_refusal(path.name, kind, role), remedy=kind.place, detail=str(path))


def unknown_architecture(name: str, architecture: str, detail: str = "") -> UnknownArchitecture:
    """Return the error for the file `name`, which this llama.cpp cannot load."""
    return UnknownArchitecture(
        f"“{name}” has the architecture “{architecture}”, which this llama.cpp does not know.",
        remedy=FileKind.UNKNOWN.place,
        detail=detail,
    )


def _refusal(name: str, kind: FileKind, role: ModelRole) -> str:
    return f"“{name}” is {kind.phrase}, not {_PURPOSES[role]}."
