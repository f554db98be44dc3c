"""What the window's choices mean to the engine."""

from __future__ import annotations

from collections.abc import Sequence

from app.settings import RunSettings
from engine.chat.messages import ChatMessage, Role
from engine.speculation.settings import GenerationSettings, SamplingSettings
from engine.worker.messages import Prompt


def generation_settings(run: RunSettings) -> GenerationSettings:
    """Return the request that the options row describes."""
    sampling = SamplingSettings(temperature=run.temperature, seed=run.seed)
    return GenerationSettings(sampling=sampling, max_tokens=run.max_tokens, draft_length=run.draft_length)


def prompt_for(text: str) -> Prompt:
    """Return `text` as one message; the engine knows how to ask a model that has no chat template."""
    return conversation_prompt((ChatMessage(Role.USER, text),))


def conversation_prompt(messages: Sequence[ChatMessage]) -> Prompt:
    return Prompt(messages=tuple(messages))
