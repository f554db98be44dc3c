"""How a token's text is shown to a person: “ the” where a vocabulary writes "Ġthe" or "▁the"."""

from __future__ import annotations

from functools import cache
from typing import Final

_MAX_SHOWN: Final = 24
_REPLACED: Final = "\ufffd"


def readable(text: bytes, type_name: str) -> str:
    """Return what a token of a vocabulary of `type_name` ("BPE", "SPM") stands for, nothing in it invisible.

    A token that is a part of a character stays as the vocabulary writes it.
    """
    written = text.decode("utf-8", errors="replace")
    meant = _decode_bytes(written) if type_name == "BPE" else ""
    shown = (meant or written).replace("▁", " ")
    visible = "".join(c if c.isprintable() else repr(c)[1:-1] for c in shown)
    return f"{visible[:_MAX_SHOWN]}{'…' if len(visible) > _MAX_SHOWN else ''}"


def _decode_bytes(written: str) -> str:
    """Return the text whose bytes `written` spells, "" if it spells none or only a part of a character."""
    try:
        text = bytes(_byte_of_character()[c] for c in written).decode("utf-8", errors="replace")
    except KeyError:
        return ""
    return "" if _REPLACED in text else text


@cache
def _byte_of_character() -> dict[str, int]:
    """Return GPT-2's table (openai/gpt-2, src/encoder.py): bytes that cannot be seen are written from U+0100 on."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unseen = [byte for byte in range(256) if byte not in seen]
    return {chr(byte): byte for byte in seen} | {chr(256 + n): byte for n, byte in enumerate(unseen)}
