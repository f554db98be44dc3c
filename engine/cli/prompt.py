"""Where the prompt comes from: the command line, a file, or standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from engine.chat.messages import ChatMessage, Role
from engine.cli.arguments import RunOptions
from engine.errors import EmptyPrompt, FileGone, SlipstreamError
from engine.worker.messages import Prompt


def read_prompt(options: RunOptions) -> Prompt:
    """Return what to answer. Raises FileGone, EmptyPrompt and, for what is not text, SlipstreamError."""
    text = _text(options)
    if not text.strip():
        raise EmptyPrompt("The prompt is empty.", remedy="Write something to answer.")
    if options.raw:
        return Prompt(raw=text)
    messages = [ChatMessage(Role.USER, text)]
    if options.system:
        messages.insert(0, ChatMessage(Role.SYSTEM, options.system))
    return Prompt(messages=tuple(messages))


def _text(options: RunOptions) -> str:
    if options.prompt_file is None:
        return options.prompt or ""
    name = "standard input" if options.prompt_file == "-" else f"“{options.prompt_file}”"
    try:
        data = (
            sys.stdin.buffer.read() if options.prompt_file == "-" else Path(options.prompt_file).read_bytes()
        )
    except (OSError, ValueError) as error:
        raise FileGone(
            f"The prompt file {name} cannot be read: {getattr(error, 'strerror', None) or error}.",
            remedy="Check its name.",
            detail=str(error),
        ) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SlipstreamError(
            f"The prompt in {name} is not valid UTF-8: byte {error.start} is 0x{data[error.start]:02x}.",
            remedy="Save it as UTF-8.",
        ) from error
