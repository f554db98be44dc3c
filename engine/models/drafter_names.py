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
    return drafter_repo(repo)


def drafter_repo(repo: str) -> DrafterKind:
    """Return the kind of drafters that a repository of this name holds, NONE if it does not say.

    An “-MTP-GGUF” does not say: some hold sidecars, most hold targets with a head inside.
    """
    found = _REPO.search(repo.partition("/")[2])
    return DrafterKind.NONE if found is None else _kind(found[1])


def _kind(word: str) -> DrafterKind:
    return _KINDS[word.lower().replace("-", "")]
