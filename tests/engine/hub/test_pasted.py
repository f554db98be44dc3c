"""Addresses from the browser."""

from __future__ import annotations

import pytest

from engine.hub.pasted import Pasted, parse_address


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("https://huggingface.co/o/n-GGUF", Pasted("o/n-GGUF")),
        (" http://hf.co/o/n/?library=gguf ", Pasted("o/n")),
        ("huggingface.co/o/n/tree/main", Pasted("o/n")),
        ("https://huggingface.co/o/n/tree/v1/MTP", Pasted("o/n", "v1", "MTP")),
        (
            "https://huggingface.co/o/n/resolve/main/a/b%20c.gguf?download=true",
            Pasted("o/n", "main", "a/b c.gguf"),
        ),
        ("https://huggingface.co/o/n/blob/main/m.gguf#L1", Pasted("o/n", "main", "m.gguf")),
        ("o/n", None),
        ("https://example.org/o/n", None),
        ("https://huggingface.co/models", None),
        ("", None),
    ],
)
def test_an_address_is_taken_apart(text: str, found: Pasted | None) -> None:
    assert parse_address(text) == found
