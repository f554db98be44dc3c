"""What an owner writes about a repository, made fit to be shown below the page's own title."""

from __future__ import annotations

import re

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.S)
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_IMAGE = re.compile(r"\[?!\[[^\]]*\]\([^)]*\)(?:\]\([^)]*\))?")
_HEADING = re.compile(r"^(#{1,4}) ", re.M)
_FENCE = re.compile(r"(^```.*?^```\s*?$)", re.M | re.S)
_GAPS = re.compile(r"\n{3,}")


def shown_readme(text: str) -> str:
    """Return `text` (Markdown) without HTML and pictures and with smaller headings; code stays as it is."""
    text = _FRONT_MATTER.sub("", text.replace("\r\n", "\n"))
    parts = _FENCE.split(text)
    return "".join(part if i % 2 else _plain(part) for i, part in enumerate(parts)).strip()


def _plain(text: str) -> str:
    text = _TAG.sub("", _COMMENT.sub("", text))
    text = _HEADING.sub(lambda found: f"{found[1]}## ", _IMAGE.sub("", text))
    return _GAPS.sub("\n\n", re.sub(r"^[ \t]+$", "", text, flags=re.M))
