"""What the window's choices mean to the engine."""

from __future__ import annotations

from collections.abc import Sequence

from app.settings import RunSettings
from engine.chat.messages import ChatMessage, Role
from engine.speculation.settings import GenerationSettings, SamplingSettings
from engine.worker.messages import Loaded, Prompt


def generation_settings(run: RunSettings) -> GenerationSettings:
    """Return the request that the options row describes."""
    sampling = SamplingSettings(temperature=run.temperature, seed=run.seed)
    return GenerationSettings(sampling=sampling, max_tokens=run.max_tokens, draft_length=run.draft_length)


def prompt_for(text: str, loaded: Loaded | None) -> Prompt:
    """Return `text` as one message; as it is for a model that knows no chat."""
    return conversation_prompt((ChatMessage(Role.USER, text),), loaded)


def conversation_prompt(messages: Sequence[ChatMessage], loaded: Loaded | None) -> Prompt:
    """Return the conversation for the model's template; its plain text for a model that has none."""
    if loaded is not None and not loaded.target.has_chat_template:
        return Prompt(raw="\n\n".join(message.text for message in messages))
    return Prompt(messages=tuple(messages))
