"""Chat messages: who said what."""

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
