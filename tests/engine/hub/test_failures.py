"""Whatever goes wrong with the Hub becomes a sentence, within a bounded time, without a secret in it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from engine.errors import (
    GatedRepository,
    HubTrouble,
    Offline,
    RateLimited,
    RepositoryNotFound,
    SlipstreamError,
)
from engine.hub.client import HubClient
from engine.hub.failures import failure_of_answer, retry_after_s
from engine.hub.listing import HubQuery
from tests.engine.hub.conftest import BRIEF, requests_of
from tests.hub_server.faults import Fault, FaultKind
from tests.hub_server.server import HubServer

TOKEN = "hf_aVerySecretToken"


class _Odd(ThreadingHTTPServer):
    """Answers everything with `status`, `content_type` and `body`."""

    daemon_threads = True
    status, content_type, body = 200, "application/json", b""


class _OddHandler(BaseHTTPRequestHandler):
    server: _Odd

    def do_GET(self) -> None:
        self.send_response(self.server.status)
        self.send_header("Content-Type", self.server.content_type)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Say nothing."""


@pytest.fixture
def odd() -> Iterator[_Odd]:
    server = _Odd(("127.0.0.1", 0), _OddHandler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def _ask(endpoint: str) -> SlipstreamError:
    client = HubClient(endpoint, lambda: TOKEN, BRIEF)
    try:
        with pytest.raises(SlipstreamError) as caught:
            client.search(HubQuery("x"))
    finally:
        client.close()
    assert caught.value.sentence.endswith(".")
    assert caught.value.remedy
    assert TOKEN not in str(vars(caught.value))
    return caught.value


def test_a_computer_without_a_network_is_offline() -> None:
    assert isinstance(_ask("http://no-such-host.invalid"), Offline)


def test_a_refused_connection_is_offline() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening
        error = _ask(f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert isinstance(error, Offline)
    assert "cannot be reached" in error.sentence


def test_a_hub_that_never_answers_is_given_up_soon() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started = time.monotonic()
        error = _ask(f"http://127.0.0.1:{silent.getsockname()[1]}")
    assert isinstance(error, Offline)
    assert "does not answer" in error.sentence
    assert time.monotonic() - started < BRIEF.answer_s + 2


def test_a_server_that_speaks_no_http_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def babble() -> None:
            connection, _ = listener.accept()
            connection.recv(1000)
            connection.sendall(b"220 smtp.example ESMTP\r\n")
            connection.close()

        thread = threading.Thread(target=babble)
        thread.start()
        error = _ask(f"http://127.0.0.1:{listener.getsockname()[1]}")
        thread.join()
    assert isinstance(error, Offline)


def test_no_certificate_is_told_as_such(hub: HubServer) -> None:
    """A server without TLS where TLS is expected: the handshake fails."""
    error = _ask(hub.endpoint.replace("http:", "https:"))
    assert isinstance(error, HubTrouble)
    assert "not safe" in error.sentence


@pytest.mark.parametrize("status", [200, 401, 403, 404, 511])
def test_a_sign_in_page_is_not_taken_for_the_hub(odd: _Odd, status: int) -> None:
    odd.status, odd.content_type, odd.body = status, "text/html", b"<html>Welcome to our hotel</html>"
    error = _ask(f"http://127.0.0.1:{odd.server_port}")
    assert isinstance(error, Offline)
    assert "Something else answers" in error.sentence


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[1, 2]", b'{"id": "a/b"}', b'[{"downloads": 3}]', b'[{"id": "a/b"', b"\xff\xfe[]"],
)
def test_nonsense_is_told_as_such(odd: _Odd, body: bytes) -> None:
    odd.body = body
    error = _ask(f"http://127.0.0.1:{odd.server_port}")
    assert isinstance(error, HubTrouble)
    assert "cannot be understood" in error.sentence


def test_one_repository_that_makes_no_sense_does_not_hide_the_others(odd: _Odd) -> None:
    odd.body = (
        b'[{"id": "a/b", "tags": [null]}, {"id": "no-owner"}, {"id": "c/d", "gguf": null, "gated": "?"}, 3]'
    )
    client = HubClient(f"http://127.0.0.1:{odd.server_port}", lambda: "", BRIEF)
    (model,) = client.search(HubQuery()).models
    client.close()
    assert (model.repo, model.gate) == ("c/d", "manual")


def test_what_is_nested_without_end_is_told_as_such(odd: _Odd) -> None:
    odd.body = b'[{"id": "a/b", "cardData": ' + b"[" * 20_000 + b"]" * 20_000 + b"}]"
    assert "cannot be understood" in _ask(f"http://127.0.0.1:{odd.server_port}").sentence


def test_a_search_does_not_ask_for_what_authors_write(hub: HubServer, client: HubClient) -> None:
    """It is of any depth, and what cannot be decoded would cost everything beside it."""
    deep: list[object] = []
    for _ in range(500):
        deep = [deep]
    hub.add(
        "a/deep-GGUF", {"m.gguf": b"x"}, cardData={"license": deep, "x": deep}, tags=["gguf", "license:mit"]
    )
    (model,) = client.search(HubQuery()).models
    assert model.licence == "mit"
    assert client.open_repo("a/deep-GGUF").licence_name == "mit"


def test_an_answer_without_end_is_given_up(odd: _Odd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.hub.connection.MAX_ANSWER_BYTES", 1000)
    odd.body = b"[" + b" " * 100_000 + b"]"
    assert isinstance(_ask(f"http://127.0.0.1:{odd.server_port}"), HubTrouble)


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_trouble_of_the_hub_is_its_own(hub: HubServer, status: int) -> None:
    hub.users[TOKEN] = "me"
    hub.api_faults.add(Fault(FaultKind.STATUS, status=status))
    error = _ask(hub.endpoint)
    assert isinstance(error, HubTrouble)
    assert str(status) in error.detail


@pytest.mark.parametrize(
    ("retry_after", "when"), [("45", "in 45 seconds"), ("300", "in 5 minutes"), ("", "in a few minutes")]
)
def test_a_pause_is_asked_for_and_not_slept_through(hub: HubServer, retry_after: str, when: str) -> None:
    hub.users[TOKEN] = "me"
    hub.api_faults.add(Fault(FaultKind.STATUS, status=429, retry_after=retry_after))
    error = _ask(hub.endpoint)
    assert isinstance(error, RateLimited)
    assert when in error.remedy
    assert len(requests_of(hub, 1)) == 1


def test_what_the_hub_writes_about_its_limits_is_read() -> None:
    assert retry_after_s({"ratelimit": '"api";r=0;t=55'}) == 55
    assert retry_after_s({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}) == 0
    assert retry_after_s({}) == 0


def test_a_gate_is_told_with_the_page_where_it_opens() -> None:
    error = failure_of_answer(
        403, {"x-error-code": "GatedRepo"}, "https://hub/x", repo="a/b", page_url="https://hub/a/b"
    )
    assert isinstance(error, GatedRepository)
    assert error.sentence == "The account of your token has no access to “a/b” yet."
    assert "https://hub/a/b" in error.remedy
    unknown = failure_of_answer(401, {"x-error-code": "GatedRepo"}, "https://hub/x", repo="a/b")
    assert "accept its terms first" in unknown.sentence
    assert "HF_TOKEN" in unknown.remedy


def test_signed_addresses_and_passwords_stay_out_of_the_log() -> None:
    error = failure_of_answer(500, {}, "https://me:secret@storage/file?Signature=signed")
    assert "Signature" not in error.detail
    assert "secret" not in error.detail


def test_being_told_to_stay_offline_is_respected(
    hub: HubServer, client: HubClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(Offline, match="told not to use the network"):
        client.search(HubQuery())
    assert hub.log == ()


@pytest.mark.parametrize("proxy", ["ftp://proxy", "socks4a://me:secret@proxy:1", "://", "http://[bad"])
def test_a_proxy_that_cannot_be_used_is_told(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    error = _ask("http://hub.invalid")
    assert isinstance(error, Offline)
    assert "secret" not in error.detail


def test_a_proxy_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("ALL_PROXY", f"socks5://127.0.0.1:{taken.getsockname()[1]}")
        assert isinstance(_ask("http://hub.invalid"), Offline)


def test_certificates_that_cannot_be_read_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/file")
    assert "certificates" in _ask("http://hub.invalid").sentence


@pytest.mark.parametrize(
    "endpoint", ["nonsense", "ftp://hub", "http://[bad", "http://", "http://a b", "https://hub:x"]
)
def test_an_address_that_is_none_is_told(endpoint: str) -> None:
    assert isinstance(_ask(endpoint), Offline | HubTrouble)


def test_the_client_recovers_when_the_hub_comes_back(hub: HubServer, client: HubClient) -> None:
    hub.api_faults.add(Fault(FaultKind.STATUS, status=503), Fault(FaultKind.STALLED))
    with pytest.raises(HubTrouble):
        client.search(HubQuery())
    with pytest.raises(Offline):
        client.search(HubQuery())
    assert client.search(HubQuery()).models == ()


def test_each_contact_with_the_hub_is_reported_whatever_it_answers(hub: HubServer) -> None:
    heard: list[bool] = []
    client = HubClient(hub.endpoint, lambda: "", BRIEF, heard.append)
    assert client.whoami() == ""
    assert heard == []  # it knew without asking
    client.search(HubQuery())
    with pytest.raises(RepositoryNotFound):
        client.open_repo("no/such")
    hub.api_faults.add(Fault(FaultKind.STATUS, status=503))
    with pytest.raises(HubTrouble):
        client.search(HubQuery())
    client.close()
    assert heard == [True, True, True]


def test_each_failure_to_reach_the_hub_is_reported(odd: _Odd, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[bool] = []

    def ask(endpoint: str) -> None:
        client = HubClient(endpoint, lambda: "", BRIEF, heard.append)
        with pytest.raises(Offline):
            client.search(HubQuery())
        client.close()

    ask("http://no-such-host.invalid")
    odd.content_type, odd.body = "text/html", b"<html>Welcome to our hotel</html>"
    for odd.status in (200, 404):
        ask(f"http://127.0.0.1:{odd.server_port}")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    ask("http://127.0.0.1:9")
    assert heard == [False, False, False, False]
