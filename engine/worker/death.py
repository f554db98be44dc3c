"""What the end of a worker looks like in words."""

from __future__ import annotations

import re
import signal

from engine.errors import WorkerDied
from engine.worker.process import EXIT_CANNOT_START

_FAILED_CHECK = re.compile(r"GGML_ASSERT\(.*\) failed|GGML_ABORT.*|.*\bfatal error\b.*", re.IGNORECASE)
# Said where a device of the RPC back end goes away (ggml/src/ggml-rpc/ggml-rpc.cpp).
_REMOTE_GONE = re.compile(r"Remote RPC server crashed|Failed to connect to \S+:\d+|RPC handshake failed")


def describe_death(exit_code: int, last_words: str) -> WorkerDied:
    """Return the error for a worker that ended with `exit_code` (-N: signal N) after writing `last_words`."""
    if _REMOTE_GONE.search(last_words) is not None:
        return WorkerDied(
            "The other computer that held a part of the model has gone, or its connection broke.",
            remedy="Start its RPC server again, or load the model without it.",
            detail=last_words,
        )
    check = _FAILED_CHECK.search(last_words)
    if check is not None:
        return WorkerDied(
            f"llama.cpp stopped with a failed check: {check.group(0).strip()}",
            remedy="Try again; if it happens again, choose another model or drafter.",
            detail=last_words,
        )
    if exit_code < 0:
        return WorkerDied(
            f"The model process was ended ({_signal_name(-exit_code)}).",
            remedy=_signal_remedy(-exit_code),
            detail=last_words,
        )
    if exit_code == EXIT_CANNOT_START:
        return WorkerDied(
            f"llama.cpp could not be started: {_last_line(last_words)}",
            remedy="Install llama-cpp-python again, in a build for this computer.",
            detail=last_words,
        )
    return WorkerDied(
        f"The model process ended by itself (exit code {exit_code}).", remedy="Try again.", detail=last_words
    )


def _last_line(text: str) -> str:
    return (text.splitlines() or ["no reason was given"])[-1].strip()


def _signal_name(number: int) -> str:
    try:
        return f"signal {number}, {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"


def _signal_remedy(number: int) -> str:
    if number == getattr(signal, "SIGKILL", None):
        return "If nobody ended it, memory ran out: try a smaller context or a smaller model."
    if number == getattr(signal, "SIGILL", None):
        return "This build of llama.cpp needs another processor: install another build of it."
    return "Try again; if it happens again, choose another model or drafter."
