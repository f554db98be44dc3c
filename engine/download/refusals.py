"""What an answer other than the file means: a wait, or an error for the person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath

import httpx2

from engine.errors import HubTrouble
from engine.hub.failures import Busy, failure_of_answer, not_the_hub, retry_after_s
from engine.models.remote import RemoteFile

MAX_RETRY_AFTER_S = 3600.0
_SECONDS = re.compile(r"\d+(\.\d+)?")


def check_answer(response: httpx2.Response, file: RemoteFile, endpoint: str, *, from_hub: bool) -> None:
    """Let a success, a redirect and 416 pass. `from_hub` False: it comes from the storage that the Hub sent us to.

    Raise Busy where trying again may help, else the error that the Hub's client has for it.
    """
    status, headers, url = response.status_code, response.headers, str(response.url)
    content_type = headers.get("Content-Type", "")
    is_page = PurePosixPath(file.path).suffix.lower() in (".html", ".htm")
    if "text/html" in content_type and status < 500 and not is_page and "X-Error-Code" not in headers:
        # A network that wants a sign-in first; once somebody has signed in, the next try gets the file.
        raise Busy(not_the_hub(url, content_type))
    if status < 400 or status == 416:
        return
    page_url = f"{endpoint.rstrip('/')}/{file.repo}"
    failure = failure_of_answer(status, headers, url, repo=file.repo, page_url=page_url)
    if status in (408, 425, 429) or status >= 500:
        raise Busy(failure, _wait_s(headers))
    if not from_hub:
        # A signed address that ran out; the next try gets a fresh one.
        raise Busy(HubTrouble(f"The Hub's storage does not hand out {file.name}.", remedy="Retry later."))
    raise failure


def _wait_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that Retry-After (a number or a date) or RateLimit tell, bounded by an hour."""
    told = headers.get("Retry-After", "").strip()
    if _SECONDS.fullmatch(told):
        return min(float(told), MAX_RETRY_AFTER_S)
    try:
        wait_s = (parsedate_to_datetime(told) - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError):
        wait_s = retry_after_s(headers)
        if not wait_s:
            return None
    return min(max(wait_s, 0.0), MAX_RETRY_AFTER_S)
