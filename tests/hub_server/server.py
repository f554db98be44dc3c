"""The server: the Hub on one port and the storage that it redirects to on another, both on loopback."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.hub_server.answers import Answer
from tests.hub_server.faults import Fault, FaultBox
from tests.hub_server.repository import Repository
from tests.hub_server.routes import answer_api, answer_resolve
from tests.hub_server.stored_body import StoredBody, plan_answer, send_answer

SEND_BUFFER_BYTES = 16_384


@dataclass
class Served:
    """One request: `path` without the query, `body_bytes` of a file handed to the socket so far.

    It is in the log before the client can have the answer, so that a test sees what it caused.
    """

    method: str
    path: str
    status: int
    body_bytes: int = 0
    range: str = ""
    has_token: bool = False
    is_storage: bool = False


@dataclass
class HubServer:
    """Repositories, users by token, faults and a log of what was served.

    `api_faults` strike the Hub's own answers (kind STATUS, SLOW and STALLED) by the request's path; `faults` strike
    file bodies by "owner/name/path". `page_size` is the most that one page holds. `bytes_per_s` slows every body.
    `port` 0: any that is free.
    """

    repositories: dict[str, Repository] = field(default_factory=dict)
    users: dict[str, str] = field(default_factory=dict)
    faults: FaultBox = field(default_factory=FaultBox)
    api_faults: FaultBox = field(default_factory=FaultBox)
    page_size: int = 1000
    bytes_per_s: float = 0.0
    port: int = 0
    errors: list[BaseException] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    seen: threading.Event = field(default_factory=threading.Event)
    """Set by every request; a test clears it to wait for the next one."""
    _log: list[Served] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ports: dict[str, int] = field(default_factory=dict)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._ports['hub']}"

    @property
    def storage(self) -> str:
        return f"http://127.0.0.1:{self._ports['storage']}"

    @property
    def log(self) -> tuple[Served, ...]:
        with self._lock:
            return tuple(self._log)

    @property
    def body_bytes(self) -> int:
        """Return how many bytes of files were handed out since the log was last cleared."""
        return sum(served.body_bytes for served in self.log)

    def clear_log(self) -> None:
        with self._lock:
            self._log.clear()

    def record(self, served: Served) -> None:
        with self._lock:
            self._log.append(served)

    def add(
        self,
        repo_id: str,
        files: Mapping[str, bytes | None],
        *,
        gated: str = "",
        private: bool = False,
        **facts: Any,
    ) -> Repository:
        """Make a repository; `facts` (downloads=…, gguf={…}, tags=[…]) override what the API tells of it."""
        repo = Repository(repo_id, gated=gated, is_private=private, facts=facts)
        repo.commit(files)
        self.repositories[repo_id] = repo
        return repo

    @contextmanager
    def running(self) -> Iterator[HubServer]:
        """Serve both ports until the block ends; an error inside the server is raised at its end."""
        servers = [_Server(self, False, self.port), _Server(self, True, 0)]
        self._ports = {"hub": servers[0].server_port, "storage": servers[1].server_port}
        threads = [threading.Thread(target=each.serve_forever, args=(0.05,), daemon=True) for each in servers]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self.ended.set()
            for server in servers:
                server.shutdown()
                server.server_close()
            for thread in threads:
                thread.join()
        if self.errors:
            raise self.errors[0]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, hub: HubServer, is_storage: bool, port: int) -> None:
        self.hub = hub
        self.is_storage = is_storage
        super().__init__(("127.0.0.1", port), _Handler)

    def server_bind(self) -> None:
        # A small buffer keeps what was handed to the socket close to what the client has read.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        super().server_bind()

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        # A client that goes away is what the tests are about.
        if error is not None and not isinstance(error, ConnectionError | TimeoutError):
            self.hub.errors.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Say nothing: the tests read the log."""

    def _serve(self) -> None:
        hub = self.server.hub
        hub.seen.set()
        url = urlsplit(self.path)
        path = unquote(url.path)
        length = int(self.headers.get("Content-Length") or 0)
        form = parse_qs(self.rfile.read(length).decode()) if length else {}
        if self.server.is_storage:
            self._send_stored(path)
            return
        fault = hub.api_faults.take(path)
        if fault is not None and (answer := self._api_fault(fault)) is not None:
            self._send(answer)
            return
        user, refusal = self._user()
        if refusal is not None:
            self._send(refusal)
        elif path.startswith("/api/resolve-cache/models/"):
            self._send_stored(path.removeprefix("/api/resolve-cache/models"))
        elif path.startswith("/api/"):
            self._send(answer_api(hub, url.path, parse_qs(url.query), form, user))
        else:
            self._send(answer_resolve(hub, url.path, user))

    def _api_fault(self, fault: Fault) -> Answer | None:
        """Return the answer in place of the right one; None once a slow one has waited."""
        if fault.kind == "status":
            headers = {"Retry-After": fault.retry_after} if fault.retry_after else {}
            if fault.error_code:
                headers["X-Error-Code"] = fault.error_code
            if fault.content_type:
                headers["Content-Type"] = fault.content_type
            return Answer(fault.status, {"error": "fault"}, headers)
        self.server.hub.ended.wait(3600 if fault.kind == "stalled" else 1 / fault.bytes_per_s)
        return None

    def _user(self) -> tuple[str, Answer | None]:
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token and token not in self.server.hub.users:
            message = "Invalid credentials in Authorization header"
            return "", Answer(401, {"error": message}, {"X-Error-Message": message})
        return self.server.hub.users.get(token, ""), None

    def _send(self, answer: Answer) -> None:
        body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        self._record(answer.status)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if "Content-Type" not in answer.headers:
            self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_stored(self, path: str) -> None:
        """Serve "/owner/name/commit/path", which is where `resolve` redirects to."""
        hub = self.server.hub
        _, owner, name, revision, tail = path.split("/", 4)
        repo = hub.repositories.get(f"{owner}/{name}")
        commit = repo.at(revision) if repo is not None else None
        file = commit.files.get(tail) if commit is not None else None
        if file is None:
            self._send(Answer(404, b"no such object"))
            return
        if self.server.is_storage and self.headers.get("Authorization"):
            # Storage with signed addresses refuses a second kind of authorization, and a token has no business there.
            self._send(Answer(400, b"only one auth mechanism allowed"))
            return
        fault = hub.faults.take(f"{owner}/{name}/{tail}")
        etag = file.cdn_etag if self.server.is_storage else file.etag
        told = {"X-Repo-Commit": commit.sha} if commit is not None and not self.server.is_storage else {}
        answer = plan_answer(self, StoredBody(file.content, etag, told), fault)
        served = self._record(answer.status)
        send_answer(self, answer, served, hub.bytes_per_s, hub.ended)

    def _record(self, status: int) -> Served:
        served = Served(
            self.command,
            unquote(urlsplit(self.path).path),
            status,
            0,
            self.headers.get("Range", ""),
            bool(self.headers.get("Authorization")),
            self.server.is_storage,
        )
        self.server.hub.record(served)
        return served

    def finish(self) -> None:
        # The client may have closed its side before the last bytes were flushed.
        with suppress(ConnectionError, ValueError):
            super().finish()
