"""Requests to the Hub: one at a time, with a bound on time and size, and with sentences for failures.

HfApi of huggingface_hub 2.4 is not used for them: of the calls needed here only `model_info` takes a timeout, and
`list_models` sleeps and tries again up to five times, for minutes where the Hub asks for a pause. Here a person waits.
"""

from __future__ import annotations

import os
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import quote

import httpx2
import msgspec

from engine.errors import Cancelled, Offline
from engine.hub.failures import (
    failure_of_answer,
    failure_of_exception,
    failure_of_settings,
    not_the_hub,
    told_to_be_offline,
)
from engine.hub.token import read_token
from engine.models.remote import RemoteFile
from engine.version import slipstream_version

DEFAULT_ENDPOINT: Final = "https://huggingface.co"
MAX_ANSWER_BYTES: Final = 32 << 20

Params = Mapping[str, str | Sequence[str]]
IsCancelled = Callable[[], bool]
OnContact = Callable[[bool], None]
"""Hears True for each answer of the Hub, a refusal too, and False where it cannot be reached; on the asking thread."""

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


def nobody_hears(is_reached: bool) -> None:
    """Be an OnContact for those who do not want to know."""


def check_online_allowed() -> None:
    """Raise Offline where HF_HUB_OFFLINE forbids the network."""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        raise told_to_be_offline()


@contextmanager
def told_if_offline(on_contact: OnContact) -> Iterator[None]:
    """Tell `on_contact` if the block fails because the Hub cannot be reached."""
    try:
        yield
    except Offline:
        on_contact(False)
        raise


def resolve_url(file: RemoteFile, endpoint: str) -> str:
    """Return where the Hub, or the mirror at `endpoint`, hands out `file`."""
    where = f"{quote(file.repo)}/resolve/{quote(file.revision, safe='')}/{quote(file.path)}"
    return f"{endpoint.rstrip('/')}/{where}"


def make_tls() -> ssl.SSLContext:
    """Return a context with the certificates to trust; raises HubTrouble where they cannot be read."""
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        raise failure_of_settings(error) from error


def open_client(timeouts: Timeouts = DEFAULT_TIMEOUTS, tls: ssl.SSLContext | None = None) -> httpx2.Client:
    """Return a client that follows redirects; httpx2 drops the token where they lead to another host.

    `tls` saves reading the certificates again. Raises Offline for proxy settings and HubTrouble for certificates that
    cannot be used: httpx2 meets both here.
    """
    try:
        return httpx2.Client(
            timeout=httpx2.Timeout(timeouts.read_s, connect=timeouts.connect_s),
            follow_redirects=True,
            headers={"User-Agent": _user_agent()},
            verify=tls or True,
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
        on_contact: OnContact = nobody_hears,
    ) -> None:
        self.endpoint = endpoint.rstrip("/") or hub_endpoint()
        self.on_contact = on_contact
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

    def http(self) -> httpx2.Client:
        """Return the client that all requests share; raises as `open_client`."""
        with self._lock:
            if self._client is None:
                self._client = open_client(self._timeouts)
            return self._client

    def _ask(self, method: str, path: str, repo: str, **arguments: Any) -> RawAnswer:
        with told_if_offline(self.on_contact):
            check_online_allowed()
            answer = self._send(method, self.endpoint + path, repo, **arguments)
        # A README may well begin like a web page.
        is_document = "Accept" in arguments.get("headers", {})
        self.on_contact(is_document or not _is_page(answer))
        return answer

    def _send(self, method: str, url: str, repo: str, **arguments: Any) -> RawAnswer:
        client = self.http()
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
            failure = failure_of_answer(response.status_code, headers, url, repo=repo, page_url=page_url)
            if not isinstance(failure, Offline):
                self.on_contact(True)
            raise failure
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
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if _is_page(answer):
            raise not_the_hub(answer.url, answer.headers.get("content-type", "")) from error
        raise failure_of_exception(error, answer.url) from error


def check(is_cancelled: IsCancelled) -> None:
    """Raise Cancelled between two requests."""
    if is_cancelled():
        raise Cancelled("This was stopped.")


def decode_list(answer: RawAnswer, kind: type[_T]) -> list[_T]:
    """Return the items of a list; one that makes no sense is left out, unless none does. Raises as `decode`."""
    raw_items = decode(answer, list[msgspec.Raw])
    items: list[_T] = []
    failure: Exception | None = None
    for raw in raw_items:
        try:
            items.append(msgspec.json.decode(raw, type=kind, strict=False))
        except (msgspec.DecodeError, RecursionError) as error:
            failure = error
    if failure is not None and not items:
        raise failure_of_exception(failure, answer.url)
    return items


def _is_page(answer: RawAnswer) -> bool:
    """Whether a web page came, as from networks that want a sign-in first."""
    return "html" in answer.headers.get("content-type", "") or answer.body.lstrip()[:1] == b"<"


def _user_agent() -> str:
    return f"slipstream/{slipstream_version()}"
