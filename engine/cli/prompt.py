"""Where the prompt comes from: the command line, a file, or standard input."""

from __future__ import annotations

from engine.chat.messages import ChatMessage, Role
from engine.cli.arguments import RunOptions
from engine.cli.text_file import read_text
from engine.errors import EmptyPrompt
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
    return read_text(options.prompt_file, "prompt")
