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
from engine.models.stored_vocabulary import read_token_bytes, skip_tokens, split_until_difference

# SPEC_VOCAB_MAX_SIZE_DIFFERENCE and SPEC_VOCAB_CHECK_START_TOKEN_ID.
MAX_SIZE_DIFFERENCE: Final = 128
FIRST_COMPARED_TOKEN: Final = 5

# src/llama-vocab.cpp, by tokenizer.ggml.model.
_TYPE_NAMES: Final = {
    "llama": "SPM", "gpt2": "BPE", "hybriddna": "BPE", "whitespace": "BPE", "gemma4": "BPE", "bert": "WPM",
    "t5": "UGM", "rwkv": "RWKV", "plamo2": "PLaMo-2",
}  # fmt: skip
_MAX_SHOWN: Final = 24


def vocabulary_difference(target: ModelFacts, drafter: ModelFacts) -> str:
    """Return in words where the drafter's vocabulary differs from the target's; "" if it does not.

    Also "" where a file stores none: nothing speaks against it then. The lists of tokens are read only if their hashes
    differ.
    """
    ours, theirs = target.vocabulary, drafter.vocabulary
    if not ours.n_tokens or not theirs.n_tokens:
        return ""
    if ours.tokens_sha256 and theirs.tokens_sha256 and type_name(ours) != type_name(theirs):
        return f"the vocabularies are of different types: {type_name(ours)} and {type_name(theirs)}"
    sizes = f"the vocabulary differs: {ours.n_tokens} and {theirs.n_tokens} tokens"
    is_too_far = abs(ours.n_tokens - theirs.n_tokens) > MAX_SIZE_DIFFERENCE
    texts = _text_difference(target, drafter)
    if is_too_far:
        return f"{sizes}, {texts}" if texts else sizes
    if texts:
        return f"{sizes}, {texts}" if ours.n_tokens != theirs.n_tokens else f"the vocabulary differs: {texts}"
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
    words = [_quoted(text) for text in texts]
    return f"token {index + FIRST_COMPARED_TOKEN} is {words[0]} in the target and {words[1]} in the drafter"


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
    for name, verb, ends in (
        ("begin", "begins", ((_adds_bos(ours), ours.bos), (_adds_bos(theirs), theirs.bos))),
        ("end", "ends", ((ours.adds_eos, ours.eos), (theirs.adds_eos, theirs.eos))),
    ):
        (adds, token), (drafter_adds, drafter_token) = ends
        if adds is None or drafter_adds is None:
            continue
        if adds != drafter_adds:
            who = ("target", "drafter") if adds else ("drafter", "target")
            return f"the {who[0]} {verb} every text with a special token, the {who[1]} does not"
        if adds and token != drafter_token:
            return f"the two {name} a text with different special tokens: {token} and {drafter_token}"
    return ""


def _adds_bos(vocabulary: VocabularyFacts) -> bool | None:
    # llama-vocab.cpp: SPM vocabularies begin with BOS unless the file says otherwise; BPE's default depends on `pre`.
    if vocabulary.adds_bos is None and vocabulary.model == "llama":
        return True
    return vocabulary.adds_bos


def _quoted(text: bytes) -> str:
    shown = text.decode("utf-8", errors="replace")
    return f"“{shown[:_MAX_SHOWN]}{'…' if len(shown) > _MAX_SHOWN else ''}”"
