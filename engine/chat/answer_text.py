"""Tokens into text as they come: whole characters only, and nothing from a stop text on."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence


class AnswerText:
    """A TextStream (engine/speculation/protocols.py) over a function that gives a token's bytes.

    A character whose bytes are spread over tokens appears with the last of them; where the answer ends before
    that, not at all. Bytes that cannot become a character appear as U+FFFD. Text that might be the beginning
    of a stop text is held back until that is settled.
    """

    def __init__(self, piece: Callable[[int], bytes], stop: Sequence[str] = ()) -> None:
        """`piece` returns the bytes of a token, b"" for one that shows as nothing.

        `stop` are non-empty texts.
        """
        self._piece = piece
        self._stop = tuple(stop)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""
        self._stopped = False

    @property
    def stopped(self) -> bool:
        return self._stopped

    def push(self, token: int) -> str:
        if self._stopped:
            return ""
        text = self._held + self._decoder.decode(self._piece(token))
        if not self._stop:
            return text
        return self._release(text, hold_back=True)

    def flush(self) -> str:
        if self._stopped:
            return ""
        return self._release(self._held, hold_back=False)

    def _release(self, text: str, *, hold_back: bool) -> str:
        found = [at for at in map(text.find, self._stop) if at >= 0]
        if found:
            self._stopped = True
            self._held = ""
            return text[: min(found)]
        n_held = max((_overlap(text, stop) for stop in self._stop), default=0) if hold_back else 0
        self._held = text[len(text) - n_held :]
        return text[: len(text) - n_held]


def _overlap(text: str, stop: str) -> int:
    """Return the length of the longest end of `text` that is a beginning of `stop`."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
