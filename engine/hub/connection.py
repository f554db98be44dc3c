"""Requests to the Hub: one at a time, with a bound on time and size, and with sentences for failures.

HfApi of huggingface_hub 2.4 is not used for them: of the calls needed here only `model_info` takes a timeout, and
`list_models` sleeps and tries again up to five times, for minutes where the Hub asks for a pause. Here a person waits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import quote

import httpx2
import msgspec

from engine.errors import Cancelled
from engine.hub.failures import failure_of_answer, failure_of_exception, not_the_hub, told_to_be_offline
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
        wait = httpx2.Timeout(timeouts.read_s, connect=timeouts.connect_s)
        # Redirects within the Hub are followed; httpx2 drops the token when the host changes.
        self._client = httpx2.Client(
            timeout=wait, follow_redirects=True, headers={"User-Agent": _user_agent()}
        )

    def close(self) -> None:
        self._client.close()

    @property
    def has_token(self) -> bool:
        return bool(self._token())

    def page_url(self, repo: str) -> str:
        """Return where a person sees `repo`."""
        return f"{self.endpoint}/{quote(repo)}"

    def get(self, path: str, params: Params | None = None, *, repo: str = "", accept: str = "") -> RawAnswer:
        """Fetch `path` of the endpoint; `repo` is what errors are told about. Raises SlipstreamError."""
        headers = {"Accept": accept} if accept else {}
        request = self._build("GET", path, params=dict(params or {}), headers=headers)
        return self._send(request, repo)

    def post(self, path: str, form: Params, *, repo: str = "") -> RawAnswer:
        """Send a form to `path`, as `get` otherwise."""
        return self._send(self._build("POST", path, data=dict(form)), repo)

    def _build(self, method: str, path: str, **arguments: object) -> httpx2.Request:
        if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
            raise told_to_be_offline()
        request = self._client.build_request(method, self.endpoint + path, **arguments)  # type: ignore[arg-type]
        token = self._token()
        if token:
            request.headers["Authorization"] = f"Bearer {token}"
        return request

    def _send(self, request: httpx2.Request, repo: str) -> RawAnswer:
        url = str(request.url)
        try:
            response = self._client.send(request, stream=True)
            try:
                body = self._read(response)
            finally:
                response.close()
        except httpx2.HTTPError as error:
            raise failure_of_exception(error, url) from error
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise failure_of_exception(error, self.endpoint) from error
        headers = {name.lower(): value for name, value in response.headers.items()}
        if response.status_code >= 400:
            page_url = self.page_url(repo) if repo else ""
            raise failure_of_answer(response.status_code, headers, url, repo=repo, page_url=page_url)
        return RawAnswer(body, headers, str(response.url))

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
