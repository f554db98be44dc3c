"""The ready prompts: original texts of each kind, because what speculation buys depends on the kind."""

from __future__ import annotations

from importlib.resources import files

import msgspec


class ReadyPrompt(msgspec.Struct, frozen=True):
    kind: str
    title: str
    text: str


def ready_prompts() -> tuple[ReadyPrompt, ...]:
    """Return all of them, kind by kind."""
    data = files("resources").joinpath("prompts.json").read_bytes()
    return msgspec.json.decode(data, type=tuple[ReadyPrompt, ...])
