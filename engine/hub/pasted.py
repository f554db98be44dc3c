"""Addresses that a person copies from the browser."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import unquote

_ADDRESS: Final = re.compile(
    r"(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/(?P<repo>[\w.-]+/[\w.-]+)"
    r"(?:/(?:tree|blob|resolve)/(?P<revision>[^/?#]+)(?:/(?P<path>[^?#]+?))?)?/?(?:[?#].*)?",
    re.IGNORECASE | re.ASCII,
)


class Pasted(NamedTuple):
    """What an address names; `path` "" for a whole repository."""

    repo: str
    revision: str = "main"
    path: str = ""


def parse_address(text: str) -> Pasted | None:
    """Return what the address of a page or a file on the Hub names, None for any other text."""
    match = _ADDRESS.fullmatch(text.strip())
    if match is None:
        return None
    return Pasted(match["repo"], unquote(match["revision"] or "main"), unquote(match["path"] or ""))
