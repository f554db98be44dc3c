"""One file's body with ranges, ETags and whatever goes wrong on the way."""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Protocol

from tests.hub_server.faults import Fault, FaultKind

CHUNK_BYTES = 8192
_NONE = Fault(FaultKind.SLOW, bytes_per_s=0.0)


@dataclass(frozen=True)
class StoredBody:
    content: bytes
    etag: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class PlannedAnswer:
    """What goes out: `length` is what Content-Length says; `start` and `total` are those of Content-Range."""

    status: int
    body: bytes
    etag: str
    length: int
    start: int
    total: int
    headers: Mapping[str, str]
    fault: Fault


class BodyCount(Protocol):
    body_bytes: int


def send_answer(
    handler: BaseHTTPRequestHandler,
    plan: PlannedAnswer,
    count: BodyCount,
    bytes_per_s: float,
    ended: threading.Event,
) -> None:
    """Send headers and body, as the fault wants them. `bytes_per_s` 0: as fast as it goes."""
    fault = plan.fault
    _send_head(handler, plan)
    if handler.command == "HEAD":
        return
    end = len(plan.body)
    if fault.kind in (FaultKind.STALLED, FaultKind.TRUNCATED, FaultKind.RESET):
        end = min(fault.after_bytes, end)
    while (sent := count.body_bytes) < end and not ended.is_set():
        piece = plan.body[sent : min(sent + CHUNK_BYTES, end)]
        count.body_bytes += len(piece)
        handler.wfile.write(piece)
        slow = fault.kind is FaultKind.SLOW and count.body_bytes >= fault.after_bytes
        rate = fault.bytes_per_s if slow and fault.bytes_per_s else bytes_per_s
        if rate and count.body_bytes < end:
            ended.wait(len(piece) / rate)
    _finish(handler, fault, count.body_bytes < plan.length, ended)


def plan_answer(handler: BaseHTTPRequestHandler, stored: StoredBody, fault: Fault | None) -> PlannedAnswer:
    """Decide on status, headers and body from the request's range, and from the fault."""
    fault = fault or _NONE
    content, etag = stored.content, stored.etag
    if fault.kind is FaultKind.STATUS:
        return PlannedAnswer(fault.status, b"fault", "", 5, 0, 0, stored.headers, fault)
    if fault.kind is FaultKind.CHANGED:
        content, etag = bytes(255 - byte for byte in content), etag[::-1]
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", handler.headers.get("Range", ""))
    if_range = handler.headers.get("If-Range", "").strip('"')
    total = len(content)
    if match is None or fault.kind is FaultKind.WHOLE or (if_range and if_range != etag):
        status, start, body = 200, 0, content
    else:
        start, end = int(match[1]), int(match[2]) + 1 if match[2] else total
        if start >= total:
            return PlannedAnswer(416, b"", etag, 0, start, total, stored.headers, fault)
        status, body = 206, content[start:end]
    length = len(body)
    if fault.kind is FaultKind.SHORT_LENGTH:
        body = body[: fault.after_bytes]
        length = len(body)
    elif fault.kind is FaultKind.LONG_LENGTH:
        length += fault.after_bytes
    elif fault.kind is FaultKind.WRONG_BYTES and fault.after_bytes < len(body):
        at = fault.after_bytes
        body = body[:at] + bytes([body[at] ^ 0xFF]) + body[at + 1 :]
    if fault.kind is FaultKind.NO_ETAG:
        etag = ""
    return PlannedAnswer(status, body, etag, length, start, total, stored.headers, fault)


def _send_head(handler: BaseHTTPRequestHandler, plan: PlannedAnswer) -> None:
    handler.send_response(plan.status)
    for name, value in plan.headers.items():
        handler.send_header(name, value)
    if plan.etag:
        handler.send_header("ETag", f'"{plan.etag}"')
    if plan.status == 206:
        last = plan.start + len(plan.body) - 1
        handler.send_header("Content-Range", f"bytes {plan.start}-{last}/{plan.total}")
    elif plan.status == 416:
        handler.send_header("Content-Range", f"bytes */{plan.total}")
    if plan.fault.retry_after and plan.fault.kind is FaultKind.STATUS:
        handler.send_header("Retry-After", plan.fault.retry_after)
    handler.send_header("Accept-Ranges", "bytes")
    handler.send_header("Content-Type", "application/octet-stream")
    handler.send_header("Content-Length", str(plan.length))
    handler.end_headers()


def _finish(handler: BaseHTTPRequestHandler, fault: Fault, is_short: bool, ended: threading.Event) -> None:
    """Leave the connection as the fault wants it."""
    if fault.kind is FaultKind.STALLED:
        _wait_for_client(handler, ended)
    if fault.kind is FaultKind.RESET:
        # A close with a linger time of 0 sends a reset instead of an end.
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.connection.close()
    if is_short or fault.kind in (FaultKind.STALLED, FaultKind.RESET):
        handler.close_connection = True


def _wait_for_client(handler: BaseHTTPRequestHandler, ended: threading.Event) -> None:
    handler.connection.settimeout(0.05)
    while not ended.is_set():
        try:
            if not handler.connection.recv(1):
                return
        except TimeoutError:
            continue
        except OSError:
            return
