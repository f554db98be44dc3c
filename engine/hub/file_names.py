"""What the name of a repository's file proposes. Names only propose: the header decides.

Rules: ggml's docs/gguf.md (sidecars), llama.cpp's common/download.cpp, and what is found in the wild.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from pathlib import PurePosixPath
from typing import Final

from engine.models.bundle import DrafterKind
from engine.models.drafter_names import drafter_named


class NamedAs(Enum):
    """What a file's name says that it is."""

    TARGET = auto()
    DRAFTER = auto()
    PROJECTOR = auto()
    IMATRIX = auto()
    OTHER = auto()


_IMATRIX: Final = re.compile(r"^imatrix|[-_.]imatrix|\.gguf_file$", re.IGNORECASE)
_MTP_INSIDE: Final = re.compile(r"(?:^|[-_.])mtp(?=[-_.]|$)", re.IGNORECASE)


def named_as(path: str, repo: str = "") -> NamedAs:
    """Return what the file at `path` of `repo` seems to be."""
    name = PurePosixPath(path).name
    if _IMATRIX.search(name):
        return NamedAs.IMATRIX
    if not name.lower().endswith(".gguf"):
        return NamedAs.OTHER
    if "mmproj" in name.lower():
        return NamedAs.PROJECTOR
    return NamedAs.DRAFTER if drafter_named(path, repo) is not DrafterKind.NONE else NamedAs.TARGET


def may_hold_mtp(path: str, repo: str) -> bool:
    """Whether a target's name, or its repository's, suggests an MTP head inside."""
    return _MTP_INSIDE.search(f"{repo.partition('/')[2]}-{PurePosixPath(path).stem}") is not None


def is_safe_path(path: str) -> bool:
    """Whether `path` stays in its folder on every system."""
    parts = path.split("/")
    return all(part and part not in (".", "..") and "\\" not in part and "\0" not in part for part in parts)
