"""Tokens as a person reads them."""

from __future__ import annotations

import pytest

from engine.llama.model import Model
from engine.models.token_text import readable


@pytest.mark.parametrize(
    ("written", "type_name", "shown"),
    [
        ("Ġthe", "BPE", " the"),
        ("ĠcafÃ©", "BPE", " café"),
        ("ĊĊ", "BPE", "\\n\\n"),
        ("<|im_end|>", "BPE", "<|im_end|>"),
        ("Ã", "BPE", "Ã"),  # half of a character
        ("模型", "BPE", "模型"),  # no spelled bytes
        ("▁the", "SPM", " the"),
        ("▁the", "BPE", " the"),
        ("<0x0A>", "SPM", "<0x0A>"),
        ("x" * 30, "SPM", "x" * 24 + "…"),
        ("", "SPM", ""),
        ("\u202ereversed", "SPM", "\\u202ereversed"),
    ],
)
def test_a_token_is_shown_as_what_it_stands_for(written: str, type_name: str, shown: str) -> None:
    assert readable(written.encode(), type_name) == shown


def test_tokens_are_shown_as_llama_cpp_spells_them(starter: Model) -> None:
    vocabulary = starter.vocabulary
    pieces = {token: vocabulary.piece(token) for token in range(300, 3000)}
    texts = {token: piece.decode(errors="replace") for token, piece in pieces.items()}
    whole = {token: text for token, text in texts.items() if text.isprintable() and "\ufffd" not in text}
    assert len(whole) > 2000
    assert {token: readable(vocabulary.text(token), "BPE") for token in whole} == whole
