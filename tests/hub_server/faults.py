"""What can go wrong on the way, chosen per request."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase


class FaultKind(StrEnum):
    """How a file's body goes wrong. `Fault.after_bytes` counts from the start of the response's body."""

    SLOW = "slow"
    """`bytes_per_s` from `after_bytes` on."""
    STALLED = "stalled"
    """No byte after `after_bytes`, and the connection stays open."""
    TRUNCATED = "truncated"
    """The connection is closed in good order before the promised length is reached."""
    RESET = "reset"
    """The connection is reset."""
    SHORT_LENGTH = "short length"
    """Content-Length promises, and the body holds, only `after_bytes` bytes."""
    LONG_LENGTH = "long length"
    """Content-Length promises `after_bytes` more than there are."""
    WRONG_BYTES = "wrong bytes"
    """The byte at `after_bytes` is another one."""
    WHOLE = "whole"
    """A range is asked for, and the whole file comes with 200."""
    CHANGED = "changed"
    """Another content of the same length under another ETag, as after an upload."""
    NO_ETAG = "no etag"
    STATUS = "status"
    """`status` instead of the file, with Retry-After if `retry_after` is set."""


@dataclass(frozen=True)
class Fault:
    """One fault; it strikes requests whose path matches the glob `path`, `times` times (-1: always)."""

    kind: FaultKind
    path: str = "*"
    after_bytes: int = 0
    bytes_per_s: float = 100_000.0
    status: int = 500
    retry_after: str = ""
    error_code: str = ""
    content_type: str = ""
    times: int = 1


@dataclass
class FaultBox:
    """The faults still to strike, in the order in which they were put in."""

    _left: list[tuple[Fault, int]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, *faults: Fault) -> None:
        with self._lock:
            self._left.extend((fault, fault.times) for fault in faults)

    def clear(self) -> None:
        with self._lock:
            self._left.clear()

    def take(self, path: str) -> Fault | None:
        """Return the first fault for `path` and use it up once."""
        with self._lock:
            for at, (fault, times) in enumerate(self._left):
                if fnmatchcase(path, fault.path):
                    if times == 1:
                        del self._left[at]
                    elif times > 1:
                        self._left[at] = (fault, times - 1)
                    return fault
            return None
