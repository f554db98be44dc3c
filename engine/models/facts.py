"""What a model file says about itself, in the words of the code: from its header alone, so a sparse file will do."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import msgspec

from engine.models.bundle import DrafterKind
from engine.models.file_kind import FileKind, classify, drafter_kind
from engine.models.gguf_header import GgufHeader, LongArray, read_header
from engine.models.mtp_heads import missing_in_heads
from engine.models.parts import join_parts, read_parts
from engine.models.quantisation import quantisation_of
from engine.models.stored_vocabulary import read_token_bytes, stored_count
from engine.models.weights import read_bytes_per_token

_WITH_HEADS: Final = (FileKind.TARGET_WITH_MTP, FileKind.MTP_SIDECAR)
# What a drafter that reads the target's own cells must agree in.
_HEAD_SIZES: Final = ("key_length", "value_length", "key_length_swa", "value_length_swa")


class VocabularyFacts(msgspec.Struct, frozen=True):
    """What decides whether two models mean the same by a token.

    `tokens_sha256` is that of the list as it is stored, "" where none is: `tokens_bytes` from `tokens_offset` of the
    model's first file on, but a short list has no offset. `adds_bos`, `adds_eos` None: left to llama.cpp.
    """

    model: str = ""
    pre: str = ""
    n_tokens: int = 0
    tokens_sha256: str = ""
    tokens_offset: int = 0
    tokens_bytes: int = 0
    adds_bos: bool | None = None
    adds_eos: bool | None = None
    bos: int = -1
    eos: int = -1
    has_mask: bool = False


class DrafterFacts(msgspec.Struct, frozen=True):
    """What a drafter was made for.

    `target_layers` are the layers of the target that it reads, `target_hidden_size` the n_embd that the target must
    have (0: not said), `block_size` the tokens that it drafts at once, `n_heads` its MTP heads.
    Without `has_own_tokens` it takes the target's token table for its own. `missing_tensor` is one that its MTP heads
    need and do not have.
    """

    target_layers: tuple[int, ...] = ()
    target_hidden_size: int = 0
    block_size: int = 0
    n_heads: int = 0
    has_own_tokens: bool = True
    missing_tensor: str = ""


class ModelFacts(msgspec.Struct, frozen=True):
    """One model, all its parts. `path` is its first file.

    `n_layers` counts the layers that answer, without MTP heads. `weights_bytes` are all tensors, `read_bytes` those
    that one token reads: of a mixture of experts the active ones, of the embedding table a row. `base_models` are the
    names of what it was made from or for. `head_sizes` are those of keys and values, then of both in layers with a
    window. 0, "" and () mean: not said.
    """

    path: str
    kind: FileKind
    architecture: str = ""
    name: str = ""
    basename: str = ""
    base_models: tuple[str, ...] = ()
    quantisation: str = ""
    licence: str = ""
    n_params: int = 0
    n_ctx_train: int = 0
    n_embd: int = 0
    n_layers: int = 0
    head_sizes: tuple[int, ...] = ()
    n_experts: int = 0
    n_experts_used: int = 0
    file_bytes: int = 0
    n_parts: int = 1
    weights_bytes: int = 0
    read_bytes: int = 0
    has_chat_template: bool = False
    vocabulary: VocabularyFacts = VocabularyFacts()
    drafter: DrafterFacts = DrafterFacts()

    @property
    def drafter_kind(self) -> DrafterKind:
        return drafter_kind(self.kind)

    @property
    def n_vocab(self) -> int:
        return self.vocabulary.n_tokens

    @property
    def active_fraction(self) -> float:
        """Return the share of the weights that one token reads, 1 if it is not known."""
        return self.read_bytes / self.weights_bytes if self.weights_bytes else 1.0


def read_facts(path: Path) -> ModelFacts:
    """Return the facts of the model whose first or only file is at `path`.

    Raises FileGone (also for a missing part) and NotAModelFile.
    """
    first = read_header(path)
    if classify(first) is FileKind.SHARD:
        return facts_of(path, first, 1)
    headers = read_parts(path, first)
    return facts_of(path, join_parts(headers), len(headers))


def facts_of(path: Path, header: GgufHeader, n_parts: int = 1) -> ModelFacts:
    """Return the facts of `header`, which is that of all parts together; tokens are read from `path`."""
    architecture = header.architecture
    n_heads = _number(header, "nextn_predict_layers")
    kind = classify(header)
    n_blocks = _number(header, "block_count")
    # block_count counts MTP heads, but an assistant is nothing else.
    n_layers = n_blocks if kind is FileKind.GEMMA4_ASSISTANT else max(n_blocks - n_heads, 0)
    return ModelFacts(
        path=str(path),
        kind=kind,
        architecture=architecture,
        name=header.text("general.name"),
        basename=header.text("general.basename"),
        base_models=_base_models(header),
        quantisation=quantisation_of(header, path.name),
        licence=header.text("general.license.name") or header.text("general.license"),
        n_params=sum(t.n_elements for t in header.tensors if t.n_bytes is not None),
        n_ctx_train=_number(header, "context_length"),
        n_embd=_number(header, "embedding_length"),
        n_layers=n_layers,
        head_sizes=tuple(_number(header, f"attention.{key}") for key in _HEAD_SIZES),
        n_experts=_number(header, "expert_count"),
        n_experts_used=_number(header, "expert_used_count"),
        file_bytes=header.file_bytes,
        n_parts=n_parts,
        weights_bytes=header.tensor_bytes,
        read_bytes=read_bytes_per_token(header, n_blocks=n_layers if kind.can_answer else n_blocks),
        has_chat_template=bool(header.text("tokenizer.chat_template")),
        vocabulary=_vocabulary(path, header),
        drafter=DrafterFacts(
            target_layers=_numbers(header, "target_layers"),
            target_hidden_size=_target_hidden_size(kind, header),
            block_size=_number(header, "block_size"),
            n_heads=n_heads,
            has_own_tokens="token_embd.weight" in header.tensor_names,
            missing_tensor=missing_in_heads(header, n_layers, n_heads) if kind in _WITH_HEADS else "",
        ),
    )


def _number(header: GgufHeader, key: str) -> int:
    return header.number(f"{header.architecture}.{key}")


def _numbers(header: GgufHeader, key: str) -> tuple[int, ...]:
    values = header.metadata.get(f"{header.architecture}.{key}")
    return tuple(v for v in values if isinstance(v, int)) if isinstance(values, tuple) else ()


def _target_hidden_size(kind: FileKind, header: GgufHeader) -> int:
    """Return the n_embd that the target must have: each kind of head says it in a key of its own."""
    if kind is FileKind.EAGLE3:
        return _number(header, "target_hidden_size")
    if kind is FileKind.GEMMA4_ASSISTANT:
        return _number(header, "embedding_length_out")
    return _number(header, "embedding_length") if kind.is_drafter_only else 0


def _base_models(header: GgufHeader) -> tuple[str, ...]:
    names = (
        value
        for number in range(min(header.number("general.base_model.count"), 16))
        for key in ("name", "repo_url")
        if (value := header.text(f"general.base_model.{number}.{key}"))
    )
    return tuple(dict.fromkeys(names))


def _vocabulary(path: Path, header: GgufHeader) -> VocabularyFacts:
    key = "tokenizer.ggml."
    tokens = read_token_bytes(path, header)
    stored = header.metadata.get(f"{key}tokens")
    offset = stored.offset if isinstance(stored, LongArray) else 0
    flags = {end: header.metadata.get(f"{key}add_{end}_token") for end in ("bos", "eos")}
    ids = {end: header.metadata.get(f"{key}{end}_token_id") for end in ("bos", "eos")}
    return VocabularyFacts(
        model=header.text(f"{key}model"),
        pre=header.text(f"{key}pre"),
        n_tokens=stored_count(header) or _number(header, "vocab_size"),
        tokens_sha256=hashlib.sha256(tokens).hexdigest() if tokens else "",
        tokens_offset=offset,
        tokens_bytes=len(tokens),
        adds_bos=flags["bos"] if isinstance(flags["bos"], bool) else None,
        adds_eos=flags["eos"] if isinstance(flags["eos"], bool) else None,
        bos=ids["bos"] if isinstance(ids["bos"], int) else -1,
        eos=ids["eos"] if isinstance(ids["eos"], int) else -1,
        has_mask=f"{key}mask_token_id" in header.metadata,
    )
