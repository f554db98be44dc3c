"""What an answer other than the file means, as a sentence for the person or as a wait."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from engine.errors import DownloadRefused
from engine.models.remote import RemoteFile

MAX_RETRY_AFTER_S = 3600.0


class Busy(Exception):
    """The server asks to come back later, or is in trouble; `wait_s` is None where it does not say when."""

    def __init__(self, status: int, wait_s: float | None) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.wait_s = wait_s


def check_status(status: int, headers: Mapping[str, str], file: RemoteFile, endpoint: str) -> None:
    """Return for a success or a redirect. Raise Busy where trying again may help, else DownloadRefused."""
    if status < 400 or status == 416:
        return
    if status in (408, 425, 429) or status >= 500:
        raise Busy(status, _retry_after_s(headers))
    code = headers.get("X-Error-Code", "")
    sentence, remedy = _words(status, code, file, f"{endpoint.rstrip('/')}/{file.repo}")
    detail = f"HTTP {status} {code} for {file.repo}/{file.path} at {file.revision}"
    raise DownloadRefused(sentence, remedy=remedy, detail=detail)


def _words(status: int, code: str, file: RemoteFile, page: str) -> tuple[str, str]:
    if code == "GatedRepo" and status == 401:
        sentence = f"{file.repo} is given only to people who accepted its licence."
        return sentence, f"Accept the licence at {page}, enter your Hub token, and retry."
    if code == "GatedRepo":
        sentence = f"Your account may not load {file.repo} yet."
        return sentence, f"Ask for access or accept the licence at {page}, and retry."
    if code == "EntryNotFound":
        return f"{file.repo} has no file {file.path} any more.", f"Look at {page} for what replaced it."
    if code == "RevisionNotFound":
        return f"The pinned version of {file.repo} is gone from the Hub.", f"Look at {page} for newer files."
    if code == "RepoNotFound" or status == 404:
        sentence = f"The Hub has no {file.repo}, or it is private."
        return sentence, "Check the name; for a private repository enter a token that may read it."
    if status == 401:
        return "The Hub does not accept your token.", "Enter a valid token, or remove it, and retry."
    return (
        f"The Hub refuses {file.path} of {file.repo}.",
        f"See whether {page} opens in a browser, and retry.",
    )


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of Retry-After, which is a number or a date, bounded by an hour."""
    told = headers.get("Retry-After", "").strip()
    if not told:
        return None
    try:
        wait_s = float(told)
    except ValueError:
        try:
            wait_s = (parsedate_to_datetime(told) - datetime.now(UTC)).total_seconds()
        except (TypeError, ValueError):
            return None
    return min(max(wait_s, 0.0), MAX_RETRY_AFTER_S)
