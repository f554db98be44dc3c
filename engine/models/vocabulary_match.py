"""Whether two models mean the same by their tokens, from their files alone.

The rules are llama.cpp's (common/speculative.cpp, common_speculative_are_compatible); engine.llama.vocabulary applies
them to loaded models.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from engine.errors import SlipstreamError
from engine.models.facts import ModelFacts, VocabularyFacts
from engine.models.gguf_header import read_header
from engine.models.stored_vocabulary import read_token_bytes, skip_tokens, split_until_difference, stored_text
from engine.models.token_text import readable

# SPEC_VOCAB_MAX_SIZE_DIFFERENCE and SPEC_VOCAB_CHECK_START_TOKEN_ID.
MAX_SIZE_DIFFERENCE: Final = 128
FIRST_COMPARED_TOKEN: Final = 5

# src/llama-vocab.cpp, by tokenizer.ggml.model.
_TYPE_NAMES: Final = {
    "llama": "SPM", "gpt2": "BPE", "hybriddna": "BPE", "whitespace": "BPE", "gemma4": "BPE", "bert": "WPM",
    "t5": "UGM", "rwkv": "RWKV", "plamo2": "PLaMo-2",
}  # fmt: skip
_DIFFERS: Final = "the vocabulary differs"


def vocabulary_difference(target: ModelFacts, drafter: ModelFacts) -> str:
    """Return in words where the drafter's vocabulary differs from the target's; "" if it does not.

    Also "" where a file stores none: nothing speaks against it then. The lists of tokens are read only if their hashes
    differ.
    """
    ours, theirs = target.vocabulary, drafter.vocabulary
    if not ours.n_tokens or not theirs.n_tokens:
        return ""
    if ours.tokens_sha256 and theirs.tokens_sha256 and type_name(ours) != type_name(theirs):
        return types_differ(type_name(ours), type_name(theirs))
    sizes = sizes_differ(ours.n_tokens, theirs.n_tokens)
    is_too_far = abs(ours.n_tokens - theirs.n_tokens) > MAX_SIZE_DIFFERENCE
    texts = _text_difference(target, drafter)
    if is_too_far:
        return f"{sizes}, {texts}" if texts else sizes
    if texts:
        return f"{sizes}, {texts}" if ours.n_tokens != theirs.n_tokens else f"{_DIFFERS}: {texts}"
    return _ends_difference(target, drafter)


def type_name(vocabulary: VocabularyFacts) -> str:
    """Return llama.cpp's name for how the vocabulary splits text: "BPE"."""
    return _TYPE_NAMES.get(vocabulary.model, vocabulary.model or "unknown")


def _text_difference(target: ModelFacts, drafter: ModelFacts) -> str:
    ours, theirs = target.vocabulary, drafter.vocabulary
    if not ours.tokens_sha256 or not theirs.tokens_sha256 or ours.tokens_sha256 == theirs.tokens_sha256:
        return ""
    stored = _stored(target), _stored(drafter)
    if not all(stored):
        return "some tokens are others"
    first, second = (skip_tokens(tokens, FIRST_COMPARED_TOKEN) for tokens in stored)
    difference = split_until_difference(first, second)
    if difference is None:
        return ""
    index, texts = difference
    return texts_differ(index + FIRST_COMPARED_TOKEN, *texts, type_name(ours))


def _stored(facts: ModelFacts) -> bytes:
    """Return the list of tokens, b"" if the file is gone or another one by now."""
    vocabulary, path = facts.vocabulary, Path(facts.path)
    try:
        if not vocabulary.tokens_offset:
            return read_token_bytes(path, read_header(path))
        with path.open("rb") as file:
            file.seek(vocabulary.tokens_offset)
            return file.read(vocabulary.tokens_bytes)
    except (OSError, SlipstreamError):
        return b""


def _ends_difference(target: ModelFacts, drafter: ModelFacts) -> str:
    """Compare what is put before and after a text, as far as both files say it."""
    ours, theirs = target.vocabulary, drafter.vocabulary
    for end, (adds, token), (drafter_adds, drafter_token) in (
        ("beginning", (_adds_bos(ours), ours.bos), (_adds_bos(theirs), theirs.bos)),
        ("end", (ours.adds_eos, ours.eos), (theirs.adds_eos, theirs.eos)),
    ):
        if (
            adds is None
            or drafter_adds is None
            or (adds, adds and token) == (drafter_adds, adds and drafter_token)
        ):
            continue
        return ends_differ(
            end,
            stored_text(_stored(target), token) if adds else None,
            stored_text(_stored(drafter), drafter_token) if drafter_adds else None,
            type_name(ours),
        )
    return ""


def _adds_bos(vocabulary: VocabularyFacts) -> bool | None:
    # llama-vocab.cpp: SPM vocabularies begin with BOS unless the file says otherwise; BPE's default depends on `pre`.
    if vocabulary.adds_bos is None and vocabulary.model == "llama":
        return True
    return vocabulary.adds_bos


def types_differ(target: str, drafter: str) -> str:
    return f"the vocabularies are of different types: {target} and {drafter}"


def sizes_differ(n_target: int, n_drafter: int) -> str:
    return f"{_DIFFERS}: {n_target} and {n_drafter} tokens"


def texts_differ(token: int, target: bytes, drafter: bytes, type_name: str) -> str:
    """Say that `token` is one text in the target and another in the drafter, both of vocabularies of `type_name`."""
    texts = _quoted(target, type_name), _quoted(drafter, type_name)
    return f"token {token} is {texts[0]} in the target and {texts[1]} in the drafter"


def ends_differ(end: str, target: bytes | None, drafter: bytes | None, type_name: str) -> str:
    """Say what each puts at the `end` of a text, "beginning" or "end"; None: nothing."""
    texts = _quoted(target, type_name), _quoted(drafter, type_name)
    return f"at the {end} of a text the target puts {texts[0]}, the drafter {texts[1]}"


def _quoted(text: bytes | None, type_name: str) -> str:
    return "nothing" if text is None else f"“{readable(text, type_name)}”"
