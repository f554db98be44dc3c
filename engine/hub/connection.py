"""Requests to the Hub: one at a time, with a bound on time and size, and with sentences for failures.

HfApi of huggingface_hub 2.4 is not used for them: of the calls needed here only `model_info` takes a timeout, and
`list_models` sleeps and tries again up to five times, for minutes where the Hub asks for a pause. Here a person waits.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import quote

import httpx2
import msgspec

from engine.errors import Cancelled
from engine.hub.failures import (
    failure_of_answer,
    failure_of_exception,
    failure_of_settings,
    not_the_hub,
    told_to_be_offline,
)
from engine.hub.token import read_token
from engine.version import slipstream_version

DEFAULT_ENDPOINT: Final = "https://huggingface.co"
MAX_ANSWER_BYTES: Final = 32 << 20

Params = Mapping[str, str | Sequence[str]]
IsCancelled = Callable[[], bool]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds for a connection, for each wait between two bytes, and for a whole answer."""

    connect_s: float = 10.0
    read_s: float = 15.0
    answer_s: float = 60.0


DEFAULT_TIMEOUTS: Final = Timeouts()


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """An answer below 400: its body, and its headers in lower case."""

    body: bytes
    headers: Mapping[str, str]
    url: str


def hub_endpoint() -> str:
    """Return the Hub's address, or that of the mirror that HF_ENDPOINT names."""
    return (os.environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT).rstrip("/")


def never_cancelled() -> bool:
    return False


def open_client(timeouts: Timeouts = DEFAULT_TIMEOUTS) -> httpx2.Client:
    """Return a client that follows redirects; httpx2 drops the token where they lead to another host.

    Raises Offline for proxy settings and HubTrouble for certificates that cannot be used: httpx2 meets both here.
    """
    try:
        return httpx2.Client(
            timeout=httpx2.Timeout(timeouts.read_s, connect=timeouts.connect_s),
            follow_redirects=True,
            headers={"User-Agent": _user_agent()},
        )
    except (ImportError, ValueError, OSError) as error:
        raise failure_of_settings(error) from error


class Connection:
    """A pool of connections to one endpoint; may be used by several threads at once."""

    def __init__(
        self,
        endpoint: str = "",
        token: Callable[[], str] = read_token,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
    ) -> None:
        self.endpoint = endpoint.rstrip("/") or hub_endpoint()
        self._token = token
        self._timeouts = timeouts
        self._client: httpx2.Client | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    @property
    def has_token(self) -> bool:
        return bool(self._token())

    def page_url(self, repo: str) -> str:
        """Return where a person sees `repo`."""
        return f"{self.endpoint}/{quote(repo)}"

    def get(self, path: str, params: Params | None = None, *, repo: str = "", accept: str = "") -> RawAnswer:
        """Fetch `path` of the endpoint; `repo` is what errors are told about. Raises SlipstreamError."""
        headers = {"Accept": accept} if accept else {}
        return self._ask("GET", path, repo, params=dict(params or {}), headers=headers)

    def post(self, path: str, form: Params, *, repo: str = "") -> RawAnswer:
        """Send a form to `path`, as `get` otherwise."""
        return self._ask("POST", path, repo, data=dict(form))

    def _ask(self, method: str, path: str, repo: str, **arguments: Any) -> RawAnswer:
        if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
            raise told_to_be_offline()
        client, url = self._http(), self.endpoint + path
        try:
            request = client.build_request(method, url, **arguments)
            token = self._token()
            if token:
                request.headers["Authorization"] = f"Bearer {token}"
            response = client.send(request, stream=True)
            try:
                body = self._read(response)
            finally:
                response.close()
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
            raise failure_of_exception(error, url) from error
        headers = {name.lower(): value for name, value in response.headers.items()}
        if response.status_code >= 400:
            page_url = self.page_url(repo) if repo else ""
            raise failure_of_answer(response.status_code, headers, url, repo=repo, page_url=page_url)
        return RawAnswer(body, headers, str(response.url))

    def _http(self) -> httpx2.Client:
        with self._lock:
            if self._client is None:
                self._client = open_client(self._timeouts)
            return self._client

    def _read(self, response: httpx2.Response) -> bytes:
        """Return the body, bounded in bytes and time."""
        deadline = time.monotonic() + self._timeouts.answer_s
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > MAX_ANSWER_BYTES:
                raise httpx2.DecodingError("the answer is too large")
            if time.monotonic() > deadline:
                raise httpx2.ReadTimeout("the answer takes too long")
        return bytes(body)


def decode(answer: RawAnswer, kind: type[_T]) -> _T:
    """Return the JSON of `answer` as `kind`; raises Offline for a web page, HubTrouble for nonsense."""
    try:
        return msgspec.json.decode(answer.body, type=kind, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        content_type = answer.headers.get("content-type", "")
        if "html" in content_type or answer.body.lstrip()[:1] == b"<":
            raise not_the_hub(answer.url, content_type) from error
        raise failure_of_exception(error, answer.url) from error


def check(is_cancelled: IsCancelled) -> None:
    """Raise Cancelled between two requests."""
    if is_cancelled():
        raise Cancelled("This was stopped.")


def decode_list(answer: RawAnswer, kind: type[_T]) -> list[_T]:
    """Return the items of a list; one that makes no sense is left out, unless none does. Raises as `decode`."""
    raw_items = decode(answer, list[msgspec.Raw])
    items: list[_T] = []
    failure: msgspec.DecodeError | None = None
    for raw in raw_items:
        try:
            items.append(msgspec.json.decode(raw, type=kind, strict=False))
        except msgspec.DecodeError as error:
            failure = error
    if failure is not None and not items:
        raise failure_of_exception(failure, answer.url)
    return items


def _user_agent() -> str:
    return f"slipstream/{slipstream_version()}"
