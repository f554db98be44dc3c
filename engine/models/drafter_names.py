"""Which kind of drafter a name proposes. Names only propose: the header decides.

Rules: ggml's docs/gguf.md (sidecars), llama.cpp's common/download.cpp, and what is found in the wild.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

from engine.models.bundle import DrafterKind

_KINDS: Final = {
    "mtp": DrafterKind.MTP,
    "assistant": DrafterKind.MTP,
    "eagle3": DrafterKind.EAGLE3,
    "speculator": DrafterKind.EAGLE3,
    "dflash": DrafterKind.DFLASH,
    "dflash2": DrafterKind.DFLASH,
    "dspark": DrafterKind.DSPARK,
}
_PREFIX: Final = re.compile(r"^(mtp|eagle-?3|dflash2?|dspark)[-_.]", re.IGNORECASE)
# Not "mtp": “Qwen3.6-35B-A3B-MTP-Q8_0.gguf” is a target with a head inside.
_INFIX: Final = re.compile(r"[-_.](dflash2?|dspark|eagle-?3|assistant)(?=[-_.]|$)", re.IGNORECASE)
_REPO: Final = re.compile(r"(?:^|[-_.])(dflash2?|dspark|eagle-?3|speculator)(?=[-_.]|$)", re.IGNORECASE)
# A small model that drafts for the large one beside it.
_DRAFT: Final = re.compile(r"(?:^|[-_.])draft(?:er)?(?=[-_.]|$)", re.IGNORECASE)
_DRAFT_FOLDERS: Final = frozenset({"draft", "drafts", "drafter", "drafters"})


def drafter_named(path: str, repo: str = "") -> DrafterKind:
    """Return the kind of drafter that the file at `path` of `repo` seems to be, NONE for no drafter."""
    parsed = PurePosixPath(path)
    if not parsed.name.lower().endswith(".gguf") or "mmproj" in parsed.name.lower():
        return DrafterKind.NONE
    found = _PREFIX.search(parsed.name) or _INFIX.search(parsed.stem)
    if found is not None:
        return _kind(found[1])
    if any(folder.lower() == "mtp" for folder in parsed.parent.parts):
        return DrafterKind.MTP
    by_repo = drafter_repo(repo)
    if by_repo is DrafterKind.NONE and _is_draft_model(parsed):
        return DrafterKind.MODEL
    return by_repo


def drafter_repo(repo: str) -> DrafterKind:
    """Return the kind of drafters that a repository of this name holds, NONE if it does not say.

    An “-MTP-GGUF” does not say: some hold sidecars, most hold targets with a head inside.
    """
    found = _REPO.search(repo.partition("/")[2])
    return DrafterKind.NONE if found is None else _kind(found[1])


def _is_draft_model(path: PurePosixPath) -> bool:
    is_in_folder = any(folder.lower() in _DRAFT_FOLDERS for folder in path.parent.parts)
    return is_in_folder or _DRAFT.search(path.stem) is not None


def _kind(word: str) -> DrafterKind:
    return _KINDS[word.lower().replace("-", "")]
