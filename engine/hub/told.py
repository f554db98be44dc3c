"""What an answer of the Hub says about a file, before or beside its bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import httpx2

SHA256: Final = re.compile(r"[0-9a-f]{64}")


def told_by(answers: Iterable[httpx2.Response]) -> dict[str, str]:
    """Return "commit", "etag" (bare) and "size" as far as `answers`, from the first to the last, tell them.

    What the Hub itself says comes first: storage behind its redirect has an ETag of another kind. The ETag is the
    sha256 of an LFS file, git's blob hash of a small one.
    """
    told: dict[str, str] = {}
    for answer in answers:
        headers = answer.headers
        found = {"commit": headers.get("X-Repo-Commit", "")}
        if "X-Linked-ETag" in headers:
            found |= {"etag": headers["X-Linked-ETag"], "size": headers.get("X-Linked-Size", "")}
        elif not answer.has_redirect_location:
            found |= {"etag": headers.get("ETag", ""), "size": headers.get("Content-Length", "")}
        found["etag"] = bare_etag(found.get("etag", "")).lower()
        told = {key: value for key, value in found.items() if value} | told
    return told


def bare_etag(etag: str) -> str:
    return etag.removeprefix("W/").strip('"')
