"""What a GGUF is: a target, a drafter of which kind, a projector...

Its header decides, its name never does.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from engine.models.architectures import ENCODERS, OTHER, is_known
from engine.models.bundle import DrafterKind
from engine.models.gguf_header import GgufHeader


class FileKind(StrEnum):
    """What a GGUF file can be used as."""

    TARGET = "target"
    TARGET_WITH_MTP = "target-with-mtp"
    MTP_SIDECAR = "mtp-sidecar"
    GEMMA4_ASSISTANT = "gemma4-assistant"
    EAGLE3 = "eagle3"
    DFLASH = "dflash"
    DFLASH2 = "dflash2"
    DSPARK = "dspark"
    PROJECTOR = "projector"
    ADAPTER = "adapter"
    IMATRIX = "imatrix"
    SHARD = "shard"
    EMBEDDING = "embedding"
    VOCABULARY = "vocabulary"
    OTHER = "other-model"
    UNKNOWN = "unknown-architecture"

    @property
    def phrase(self) -> str:
        """Return what to call it in front of a person: "an image projector"."""
        return _PHRASES[self]

    @property
    def place(self) -> str:
        """Return a sentence about where such a file belongs."""
        return _PLACES[self]

    @property
    def can_answer(self) -> bool:
        """Whether it is a whole language model: a target, and a draft model too."""
        return self in (FileKind.TARGET, FileKind.TARGET_WITH_MTP)

    @property
    def is_drafter_only(self) -> bool:
        """Whether it drafts for the one target it was made for and does nothing alone."""
        return self in _HEADS


_HEADS: Final = {
    FileKind.MTP_SIDECAR: DrafterKind.MTP,
    FileKind.GEMMA4_ASSISTANT: DrafterKind.MTP,
    FileKind.EAGLE3: DrafterKind.EAGLE3,
    FileKind.DFLASH: DrafterKind.DFLASH,
    FileKind.DFLASH2: DrafterKind.DFLASH,
    FileKind.DSPARK: DrafterKind.DSPARK,
}

_PHRASES: Final[dict[FileKind, str]] = {
    FileKind.TARGET: "a language model",
    FileKind.TARGET_WITH_MTP: "a language model with an MTP head",
    FileKind.MTP_SIDECAR: "an MTP drafter",
    FileKind.GEMMA4_ASSISTANT: "a Gemma 4 assistant drafter",
    FileKind.EAGLE3: "an EAGLE-3 drafter",
    FileKind.DFLASH: "a DFlash drafter",
    FileKind.DFLASH2: "a DFlash 2 drafter",
    FileKind.DSPARK: "a DSpark drafter",
    FileKind.PROJECTOR: "an image or audio projector",
    FileKind.ADAPTER: "a LoRA adapter",
    FileKind.IMATRIX: "an importance matrix",
    FileKind.SHARD: "a later part of a model in several files",
    FileKind.EMBEDDING: "an embedding model",
    FileKind.VOCABULARY: "a vocabulary without weights",
    FileKind.OTHER: "a model that does not write one token after the other",
    FileKind.UNKNOWN: "a model of an architecture that this llama.cpp does not know",
}

_BESIDE_ITS_TARGET = (
    "It belongs beside the model that it was trained for. Choose that model, with this as its drafter."
)
_PLACES: Final[dict[FileKind, str]] = {
    FileKind.TARGET: "Choose it as the model.",
    FileKind.TARGET_WITH_MTP: "Choose it as the model.",
    **dict.fromkeys(_HEADS, _BESIDE_ITS_TARGET),
    FileKind.PROJECTOR: "It belongs beside a model that sees or hears. Choose the larger file next to it.",
    FileKind.ADAPTER: "It changes another model. Choose the model that it was made from.",
    FileKind.IMATRIX: "It is only used to quantise a model. Choose the model itself.",
    FileKind.SHARD: "Choose the first part: its name contains “-00001-of-”.",
    FileKind.EMBEDDING: "It turns text into numbers and cannot write. Choose a chat model.",
    FileKind.VOCABULARY: "It holds no weights. Choose the model itself.",
    FileKind.OTHER: "It makes speech, translates or writes in another way. Choose a chat model.",
    FileKind.UNKNOWN: "Update Slipstream, or choose another model.",
}

_BY_GENERAL_TYPE: Final = {
    "mmproj": FileKind.PROJECTOR,
    "projector": FileKind.PROJECTOR,
    "adapter": FileKind.ADAPTER,
    "imatrix": FileKind.IMATRIX,
}
_BY_ARCHITECTURE: Final = {
    "clip": FileKind.PROJECTOR,
    "mmproj": FileKind.PROJECTOR,
    "gemma4-assistant": FileKind.GEMMA4_ASSISTANT,
    "eagle3": FileKind.EAGLE3,
    "dflash": FileKind.DFLASH,
}


def drafter_kind(kind: FileKind) -> DrafterKind:
    """Return how a file of this kind drafts: as a draft model if it is a whole one, NONE if it cannot."""
    return DrafterKind.MODEL if kind.can_answer else _HEADS.get(kind, DrafterKind.NONE)


def classify(header: GgufHeader) -> FileKind:
    """Return what the file with this header is (rules: common/speculative.cpp,
    common_speculative_types_from_gguf).

    Of a model in several files, whose head is in the last one, hand in the header of all (parts.join_parts).
    """
    by_type = _BY_GENERAL_TYPE.get(header.text("general.type"))
    if by_type is not None:
        return by_type
    if "imatrix.datasets" in header.metadata or "imatrix.chunk_count" in header.metadata:
        return FileKind.IMATRIX
    if header.number("split.count") > 1 and header.number("split.no") > 0:
        return FileKind.SHARD
    architecture = header.architecture
    if architecture in ENCODERS:
        return FileKind.EMBEDDING
    if architecture in OTHER:
        return FileKind.OTHER
    by_architecture = _BY_ARCHITECTURE.get(architecture)
    if by_architecture is FileKind.DFLASH:
        return _classify_dflash(header)
    if by_architecture is not None:
        return by_architecture
    if not is_known(architecture):
        return FileKind.UNKNOWN
    # The first part of a model in several files may hold metadata alone.
    if not header.tensors and header.number("split.count") <= 1:
        return FileKind.VOCABULARY
    return _classify_mtp(header)


def _classify_dflash(header: GgufHeader) -> FileKind:
    names = header.tensor_names
    if "markov_w1.weight" in names:
        return FileKind.DSPARK
    if "selector_hidden.weight" in names or header.number("dflash.selector_top_k") > 0:
        return FileKind.DFLASH2
    return FileKind.DFLASH


def _classify_mtp(header: GgufHeader) -> FileKind:
    names = header.tensor_names
    if header.number(f"{header.architecture}.nextn_predict_layers") <= 0:
        return FileKind.TARGET
    if header.number("split.count") > 1:
        return FileKind.TARGET_WITH_MTP  # the head is in the last part, which is not this one
    last_block = header.number(f"{header.architecture}.block_count") - 1
    if f"blk.{last_block}.nextn.eh_proj.weight" not in names:
        return FileKind.TARGET
    return FileKind.TARGET_WITH_MTP if "blk.0.attn_norm.weight" in names else FileKind.MTP_SIDECAR
