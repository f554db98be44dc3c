"""The beginning of a file on the Hub, by HTTP ranges."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import httpx2

from engine.errors import Cancelled, HubTrouble, NotAModelFile, SlipstreamError
from engine.hub.connection import (
    IsCancelled,
    OnContact,
    check_online_allowed,
    hub_endpoint,
    never_cancelled,
    nobody_hears,
    resolve_url,
)
from engine.hub.failures import Busy, failure_of_answer, failure_of_exception, not_the_hub
from engine.hub.told import SHA256, bare_etag, told_by
from engine.models.remote import RemoteFile

FIRST_READ_BYTES: Final = 1 << 20
MAX_READ_BYTES: Final = 64 << 20
_TIMEOUT: Final = httpx2.Timeout(15.0, connect=10.0)
_PAUSES_S: Final = (0.2, 1.0)
_CONTENT_RANGE: Final = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")
_EMPTY_RANGE: Final = re.compile(r"bytes \*/0")


@dataclass(frozen=True, slots=True)
class Identity:
    """Which content was read: one and the same from the first range to the last.

    `sha256` and `commit` are "" where the server does not tell them.
    """

    size_bytes: int
    etag: str
    sha256: str
    commit: str


class RangeSource:
    """A ByteSource over a remote file's beginning: 1 MiB, then twice as much each time, at most 64 MiB.

    Every range is asked of the Hub itself, which redirects to its storage; the token does not go along to another
    host. `on_contact` hears True for each answer that is the Hub's. Raises, on opening and on reading: Offline,
    HubTrouble, RateLimited, TokenRefused, GatedRepository, RepositoryNotFound, NotAModelFile, Cancelled.
    """

    def __init__(
        self,
        remote: RemoteFile,
        client: httpx2.Client,
        *,
        token: str = "",
        endpoint: str = "",
        is_cancelled: IsCancelled = never_cancelled,
        on_contact: OnContact = nobody_hears,
    ) -> None:
        self._remote = remote
        self._client = client
        self._endpoint = endpoint.rstrip("/") or hub_endpoint()
        self._token = token
        self._is_cancelled = is_cancelled
        self._on_contact = on_contact
        self._buffer = bytearray()
        self.identity = self._extend(FIRST_READ_BYTES)
        self._check_pin()

    @property
    def size(self) -> int:
        return self.identity.size_bytes

    def read(self, offset: int, n_bytes: int) -> bytes:
        end = min(offset + n_bytes, self.size)
        while len(self._buffer) < end:
            if end > MAX_READ_BYTES:
                raise NotAModelFile(
                    f"The header of “{self._remote.name}” is longer than {MAX_READ_BYTES >> 20} MB.",
                    remedy="It is not read from afar; download the file to look into it.",
                )
            self._extend(
                min(max(end - len(self._buffer), len(self._buffer)), MAX_READ_BYTES - len(self._buffer))
            )
        return bytes(self._buffer[offset:end])

    def _extend(self, n_bytes: int) -> Identity:
        """Fetch the next `n_bytes`, again if the connection breaks or the server is busy."""
        url = resolve_url(self._remote, self._endpoint)
        for pause_s in (*_PAUSES_S, None):
            check_online_allowed()
            self._check_cancelled()
            try:
                return self._fetch(url, n_bytes)
            except httpx2.HTTPError as error:
                failure, may_pass = failure_of_exception(error, url), isinstance(error, httpx2.TransportError)
            except Busy as busy:
                failure, may_pass = busy.failure, True
            except (httpx2.InvalidURL, UnicodeError) as error:
                raise failure_of_exception(error, self._endpoint) from error
            if pause_s is None or not may_pass:
                raise failure
            time.sleep(pause_s)
        raise AssertionError("the last try returns or raises")

    def _fetch(self, url: str, n_bytes: int) -> Identity:
        start = len(self._buffer)
        headers = {"Range": f"bytes={start}-{start + n_bytes - 1}", "Accept-Encoding": "identity"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        # httpx2 drops the token when a redirect leads to another host.
        with self._client.stream(
            "GET", url, headers=headers, timeout=_TIMEOUT, follow_redirects=True
        ) as response:
            if "html" not in response.headers.get("Content-Type", ""):
                self._on_contact(True)
            expected, identity = self._check(response, start)
            body = self._read_body(response, min(expected, n_bytes))
        self._buffer += body
        return identity

    def _check_cancelled(self) -> None:
        if self._is_cancelled():
            raise Cancelled("This was stopped.")

    def _read_body(self, response: httpx2.Response, n_bytes: int) -> bytes:
        body = bytearray()
        for chunk in response.iter_raw():
            self._check_cancelled()
            body += chunk
            if len(body) >= n_bytes:
                return bytes(body[:n_bytes])
        if len(body) < n_bytes:
            raise httpx2.RemoteProtocolError(f"{len(body)} of {n_bytes} bytes came")
        return bytes(body)

    def _check(self, response: httpx2.Response, start: int) -> tuple[int, Identity]:
        """Return how many bytes come and of which content; raise unless they are the ones that were asked for."""
        match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if response.status_code != 206 or match is None:
            raise self._not_a_range(response)
        first, last, total = (int(number) for number in match.groups())
        if first != start or last < first or last >= total:
            raise self._trouble("sent another part of the file than was asked for", response)
        identity = _identity(response, total)
        if start and _differ(self.identity, identity):
            raise HubTrouble(
                f"“{self._remote.name}” was changed on the Hub while it was read.",
                remedy="Try again.",
                detail=f"{self.identity} → {identity}",
            )
        return last - first + 1, identity

    def _not_a_range(self, response: httpx2.Response) -> SlipstreamError:
        status, headers = response.status_code, {k.lower(): v for k, v in response.headers.items()}
        if status == 416 and _EMPTY_RANGE.fullmatch(headers.get("content-range", "")):
            return NotAModelFile(f"“{self._remote.name}” is empty.", remedy="Choose another file.")
        if status >= 400:
            repo = self._remote.repo
            page_url = f"{self._endpoint}/{quote(repo)}"
            failure = failure_of_answer(status, headers, str(response.url), repo=repo, page_url=page_url)
            if status >= 500:
                raise Busy(failure)
            return failure
        content_type = headers.get("content-type", "")
        if "html" in content_type:
            return not_the_hub(str(response.url), content_type)
        return self._trouble("does not hand out parts of a file", response)

    def _trouble(self, what: str, response: httpx2.Response) -> HubTrouble:
        return HubTrouble(
            f"The server {what}, so “{self._remote.name}” cannot be looked into from afar.",
            remedy="Download the file, or ask the Hub itself instead of a mirror.",
            detail=f"{response.status_code} {response.headers.get('Content-Range', '')} from {response.url.host}",
        )

    def _check_pin(self) -> None:
        """Raise if the file is not the one whose size and sha256 are known."""
        remote, found = self._remote, self.identity
        is_same_size = remote.size_bytes in (0, found.size_bytes)
        if is_same_size and (not remote.sha256 or not found.sha256 or remote.sha256 == found.sha256):
            return
        raise HubTrouble(
            f"“{remote.name}” on the Hub has changed since it was checked.",
            remedy="Look for a newer version of this bundle, or choose the file anew from its repository.",
            detail=f"{remote.size_bytes} {remote.sha256} → {found}",
        )


def _identity(response: httpx2.Response, total: int) -> Identity:
    """Read what the Hub said before it redirected, and what its storage said."""
    told = told_by((*response.history, response))
    linked = told.get("etag", "")
    sha256 = linked if SHA256.fullmatch(linked) else ""
    return Identity(total, bare_etag(response.headers.get("ETag", "")), sha256, told.get("commit", ""))


def _differ(first: Identity, second: Identity) -> bool:
    """Whether two answers are about different contents; what one of them does not tell does not count."""
    pairs = ((first.etag, second.etag), (first.sha256, second.sha256))
    return first.size_bytes != second.size_bytes or any(a != b for a, b in pairs if a and b)
