"""Chat messages: who said what, and what is to be answered."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class ChatMessage(msgspec.Struct, frozen=True):
    role: Role
    text: str


class Prompt(msgspec.Struct, frozen=True):
    """What to answer: `messages` through the model's chat template, or `raw` text as it is when `messages` is empty."""

    messages: tuple[ChatMessage, ...] = ()
    raw: str = ""
