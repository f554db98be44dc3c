"""A loaded model's vocabulary: text to tokens, tokens to bytes, and whether two of them are the same."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, Final

import numpy as np
from llama_cpp import llama_cpp as api
from numpy.typing import NDArray

from engine.errors import PreconditionFailed, VocabularyMismatch
from engine.models.vocabulary_match import (
    FIRST_COMPARED_TOKEN,
    MAX_SIZE_DIFFERENCE,
    ends_differ,
    sizes_differ,
    texts_differ,
    types_differ,
)

_TYPE_NAMES: Final = {0: "none", 1: "SPM", 2: "BPE", 3: "WPM", 4: "UGM", 5: "RWKV", 6: "PLaMo-2"}


class Vocabulary:
    """The tokens of one loaded model; usable only while the model is open."""

    def __init__(self, pointer: Any, read_stored: Callable[[], bytes] = bytes) -> None:
        """`read_stored` returns the bytes of the model file's list of tokens, b"" if there are none."""
        self._pointer = pointer
        self.read_stored = read_stored
        self.n_tokens = int(api.llama_vocab_n_tokens(pointer))
        self.type_name = _TYPE_NAMES.get(api.llama_vocab_type(pointer), "unknown")
        self.adds_bos = bool(api.llama_vocab_get_add_bos(pointer))
        self.adds_eos = bool(api.llama_vocab_get_add_eos(pointer))
        self.bos = _token_or_none(api.llama_vocab_bos(pointer))
        self.eos = _token_or_none(api.llama_vocab_eos(pointer))
        self._piece_buffer = ctypes.create_string_buffer(256)
        # A call into llama.cpp costs 20 µs after a pass, which leaves no cache warm; a look-up costs 2.
        self._pieces: dict[tuple[int, bool], bytes] = {}
        self._ends_answer: dict[int, bool] = {}
        self._first_bytes: NDArray[np.int32] | None = None

    @property
    def pointer(self) -> Any:
        return self._pointer

    def tokenize(self, text: str, *, add_special: bool = True, parse_special: bool = False) -> list[int]:
        """Return the tokens of `text`.

        `add_special`: put BOS and EOS where the model wants them. `parse_special`: read "<|im_end|>" and the
        like as the control tokens that they name, which only a chat template's own text may do.
        """
        data = text.encode("utf-8", errors="replace")
        capacity = len(data) + 8
        tokens = (api.llama_token * capacity)()
        count = api.llama_tokenize(
            self._pointer, data, len(data), tokens, capacity, add_special, parse_special
        )
        if count < 0:
            capacity = -count
            tokens = (api.llama_token * capacity)()
            count = api.llama_tokenize(
                self._pointer, data, len(data), tokens, capacity, add_special, parse_special
            )
        return list(tokens[:count])

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """Return the bytes of `token`, which may be a part of a character.

        B"" for control tokens unless `special`.
        """
        known = self._pieces.get((token, special))
        if known is None:
            known = self._pieces[token, special] = self._read_piece(token, special=special)
        return known

    def _read_piece(self, token: int, *, special: bool) -> bytes:
        self._check(token)
        buffer = self._piece_buffer
        count = api.llama_token_to_piece(self._pointer, token, buffer, len(buffer), 0, special)
        if count < 0:
            self._piece_buffer = buffer = ctypes.create_string_buffer(-count)
            count = api.llama_token_to_piece(self._pointer, token, buffer, len(buffer), 0, special)
        return buffer.raw[: max(count, 0)]

    def text(self, token: int) -> bytes:
        """Return how the vocabulary itself writes `token` ("Ġthe", "<|im_end|>")."""
        self._check(token)
        return bytes(api.llama_vocab_get_text(self._pointer, token) or b"")

    def texts(self, stop: int) -> list[bytes]:
        """Return `text` of every token below `stop`."""
        self._check(stop - 1)
        return list(map(api.llama_vocab_get_text, repeat(self._pointer, stop), range(stop)))

    def is_end_of_answer(self, token: int) -> bool:
        """Whether the model ends its answer with `token` (EOS, EOT and the like)."""
        known = self._ends_answer.get(token)
        if known is None:
            known = self._ends_answer[token] = bool(api.llama_vocab_is_eog(self._pointer, token))
        return known

    def first_bytes(self) -> NDArray[np.int32]:
        """Return for each token the token that is its first byte alone, itself where there is none.

        What ends an answer stands for itself. Read once: it takes some tenths of a second for 150,000 tokens.
        """
        if self._first_bytes is None:
            self._first_bytes = self._read_first_bytes()
        return self._first_bytes

    def _read_first_bytes(self) -> NDArray[np.int32]:
        pointer, buffer, read = self._pointer, self._piece_buffer, api.llama_token_to_piece
        ends = list(map(api.llama_vocab_is_eog, repeat(pointer), range(self.n_tokens)))
        beginnings: list[bytes] = []
        single: dict[bytes, int] = {}
        for token, ends_answer in enumerate(ends):
            count = 0 if ends_answer else read(pointer, token, buffer, len(buffer), 0, True)
            # A piece longer than the buffer is not written: it stands for itself.
            beginnings.append(buffer[0] if count > 0 else b"")
            if count == 1 and buffer[0] != b"\0":
                single[buffer[0]] = token
        return np.array([single.get(first, token) for token, first in enumerate(beginnings)], np.int32)

    def suppressed(self) -> tuple[int, ...]:
        """Return the tokens that this model must never produce (tokenizer.ggml.suppress_tokens)."""
        count = ctypes.c_int32(0)
        tokens = api.llama_vocab_get_suppress_tokens(self._pointer, ctypes.byref(count))
        return tuple(tokens[: count.value]) if tokens else ()

    def _check(self, token: int) -> None:
        # llama.cpp looks tokens up with vector::at, whose exception would end the process.
        if not 0 <= token < self.n_tokens:
            raise PreconditionFailed(
                f"Token {token} is outside this model's vocabulary of {self.n_tokens} tokens."
            )


def _token_or_none(token: int) -> int | None:
    return token if token >= 0 else None


def find_mismatch(target: Vocabulary, drafter: Vocabulary) -> str | None:
    """Return why `drafter` cannot draft for `target`, in words; None if it can.

    The rules are llama.cpp's (common/speculative.cpp, common_speculative_are_compatible).
    """
    if target.type_name != drafter.type_name:
        return types_differ(target.type_name, drafter.type_name)
    if abs(target.n_tokens - drafter.n_tokens) > MAX_SIZE_DIFFERENCE:
        return sizes_differ(target.n_tokens, drafter.n_tokens)
    for end, ours, theirs in (
        ("beginning", (target.adds_bos, target.bos), (drafter.adds_bos, drafter.bos)),
        ("end", (target.adds_eos, target.eos), (drafter.adds_eos, drafter.eos)),
    ):
        if ours[0] != theirs[0] or (ours[0] and ours[1] != theirs[1]):
            return ends_differ(end, _end_text(target, *ours), _end_text(drafter, *theirs), target.type_name)
    if _stored_alike(target, drafter):
        return None
    common = min(target.n_tokens, drafter.n_tokens)
    token = _first_difference(target.texts(common), drafter.texts(common))
    if token is None:
        return None
    return texts_differ(token, target.text(token), drafter.text(token), target.type_name)


def require_match(target: Vocabulary, drafter: Vocabulary) -> None:
    """Raise VocabularyMismatch with the reason if `drafter` cannot draft for `target`."""
    reason = find_mismatch(target, drafter)
    if reason is not None:
        raise VocabularyMismatch(
            f"This drafter does not fit the target: {reason}.",
            remedy="Choose a small model of the same family, or n-gram lookup, which fits every target.",
        )


def _stored_alike(target: Vocabulary, drafter: Vocabulary) -> bool:
    """Whether one file's list of tokens begins with all of the other's.

    Asking llama.cpp for every text of two vocabularies of 150,000 tokens takes half a second, this 5 ms.
    """
    shorter, longer = sorted((target.read_stored(), drafter.read_stored()), key=len)
    return bool(shorter) and longer.startswith(shorter)


def _first_difference(first: Sequence[bytes], second: Sequence[bytes]) -> int | None:
    if first[FIRST_COMPARED_TOKEN:] == second[FIRST_COMPARED_TOKEN:]:
        return None
    return next(i for i in range(FIRST_COMPARED_TOKEN, len(first)) if first[i] != second[i])


def _end_text(vocabulary: Vocabulary, is_added: bool, token: int | None) -> bytes | None:
    return vocabulary.text(token) if is_added and token is not None else None
