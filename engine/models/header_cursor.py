"""Reading a GGUF's header step by step, never past what is there nor past a bound."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Final, Protocol

from engine.errors import NotAModelFile

MAX_HEADER_BYTES: Final = 64 << 20
MAX_TEXT_BYTES: Final = 8 << 20
"""All strings that are kept, together. Skipped ones (vocabularies) do not count."""
MAX_STRINGS: Final = 4 << 20
"""All strings that are skipped, together: some seconds' worth would fit into the bytes."""
_MAX_CHUNK: Final = 4 << 20

_SCALARS: Final[dict[int, str]] = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")

Scalar = int | float | bool | str


class ByteSource(Protocol):
    """Something that gives bytes by range: a local file, or one on the Hub."""

    @property
    def size(self) -> int: ...

    def read(self, offset: int, n_bytes: int) -> bytes:
        """Return the bytes from `offset` on: `n_bytes` of them, fewer only at the end."""


class FileSource:
    """A local file as a ByteSource."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self.size = os.fstat(self._file.fileno()).st_size

    def read(self, offset: int, n_bytes: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(n_bytes)

    def close(self) -> None:
        self._file.close()


class HeaderCursor:
    """A bounded read-ahead over a ByteSource."""

    _FIRST_READ = 256 << 10

    def __init__(self, source: ByteSource, name: str) -> None:
        self._source = source
        self._name = name
        self._buffer = bytearray()
        self._text_bytes = 0
        self._n_strings = 0
        self.position = 0

    def damaged(self, what: str) -> NotAModelFile:
        return NotAModelFile(
            f"“{self._name}” is damaged: its header cannot be right.",
            remedy="Download it again.",
            detail=f"at byte {self.position}: {what}",
        )

    def expect(self, n_bytes: int) -> None:
        """Raise unless the source can hold `n_bytes` more."""
        end = self.position + n_bytes
        if end > self._source.size:
            if end > 1 << 44:
                raise self.damaged(f"{end} bytes are announced")
            raise cut_short(self._name, self._source.size, "a longer header")
        if end > MAX_HEADER_BYTES:
            raise self.damaged(f"the header is longer than {MAX_HEADER_BYTES} bytes")

    def _need(self, n_bytes: int) -> int:
        """Have `n_bytes` buffered from the position on; return the position and advance."""
        start = self.position
        end = start + n_bytes
        if end > len(self._buffer):
            self.expect(n_bytes)
            self._fill(end)
        self.position = end
        return start

    def _fill(self, end: int) -> None:
        while len(self._buffer) < end:
            have = len(self._buffer)
            chunk = self._source.read(have, max(end - have, min(have, _MAX_CHUNK), self._FIRST_READ))
            if not chunk:
                raise cut_short(self._name, have, "a longer header")
            self._buffer += chunk

    def take(self, n_bytes: int) -> bytes:
        start = self._need(n_bytes)
        return bytes(self._buffer[start : self.position])

    def skip(self, n_bytes: int) -> None:
        self._need(n_bytes)

    def u32(self) -> int:
        value: int = _U32.unpack_from(self._buffer, self._need(4))[0]
        return value

    def u64(self) -> int:
        value: int = _U64.unpack_from(self._buffer, self._need(8))[0]
        return value

    def unpack(self, layout: struct.Struct) -> tuple[int, ...]:
        return layout.unpack_from(self._buffer, self._need(layout.size))

    def string(self) -> str:
        n_bytes = self.u64()
        self._text_bytes += n_bytes
        if self._text_bytes > MAX_TEXT_BYTES:
            raise self.damaged(f"its texts are longer than {MAX_TEXT_BYTES} bytes")
        return self.take(n_bytes).decode("utf-8", errors="replace")

    def format_of(self, value_type: int) -> str:
        if value_type not in _SCALARS:
            raise self.damaged(f"a value of type {value_type}")
        return _SCALARS[value_type]

    def scalar(self, value_type: int) -> Scalar:
        layout = "<" + self.format_of(value_type)
        value: Scalar = struct.unpack_from(layout, self._buffer, self._need(struct.calcsize(layout)))[0]
        return value

    def scalars(self, value_type: int, count: int) -> tuple[Scalar, ...]:
        layout = f"<{count}{self.format_of(value_type)}"
        return struct.unpack_from(layout, self._buffer, self._need(struct.calcsize(layout)))

    def skip_strings(self, count: int) -> None:
        self._n_strings += count
        if self._n_strings > MAX_STRINGS:
            raise self.damaged(f"{self._n_strings} strings")
        # A vocabulary has hundreds of thousands of strings: this loop is what reading a header costs, and a comparison
        # with the buffer's end in it a quarter of that. What lies beyond the end is found by unpack.
        position, unpack = self.position, _U64.unpack_from
        buffer = self._buffer
        left = count
        while left:
            try:
                for left in range(left, 0, -1):  # noqa: B007, B020 - what is left when the buffer ends
                    position += 8 + unpack(buffer, position)[0]
                left = 0
            except (struct.error, OverflowError):
                self.position = position
                self._need(8)
        self.position = min(position, len(buffer))
        self.skip(position - self.position)


def cut_short(name: str, there_bytes: int, needed: str) -> NotAModelFile:
    there = size_words(there_bytes)
    if there == needed:
        there = f"a little less than {needed}"
    return NotAModelFile(
        f"“{name}” is cut short: {there} are there, it needs {needed}.",
        remedy="Its download did not finish. Download it again.",
    )


def size_words(n_bytes: int) -> str:
    """Return a file's size as people say it: "12 bytes", "4.1 kB", "98 MB"."""
    if n_bytes < 1_000:
        return f"{n_bytes} bytes"
    if n_bytes < 1_000_000:
        return f"{n_bytes / 1e3:.1f} kB"
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes < 100e6 else f"{n_bytes / 1e6:.0f} MB"
