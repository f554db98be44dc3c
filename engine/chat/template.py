"""Chat templates: messages into the text that a model was trained to continue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, TypeVar

import jinja2

from engine.chat.messages import ChatMessage, Role
from engine.chat.sandbox import BoundedEnvironment, TimeUp, TooMuch, compile_template, deadline
from engine.errors import SlipstreamError, TemplateFailed

T = TypeVar("T")

MAX_TEMPLATE_LENGTH: Final = 1_000_000
TIME_LIMIT_S: Final = 2.0

CHATML: Final = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PLAIN: Final = (
    "{% for message in messages %}{% if message.role == 'system' %}{{ message.content }}\n\n"
    "{% else %}{{ message.role | capitalize }}: {{ message.content }}\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}"
)


class TemplateOrigin(StrEnum):
    """Where a chat template comes from."""

    MODEL = "the model's own"
    CHATML = "ChatML"
    PLAIN = "plain text"


class _Refused(Exception):
    """The template called raise_exception."""


class ChatTemplate:
    """A compiled chat template. Not thread-safe: it counts what it makes."""

    def __init__(
        self,
        source: str,
        *,
        origin: TemplateOrigin = TemplateOrigin.MODEL,
        bos_token: str = "",
        eos_token: str = "",
        time_limit_s: float = TIME_LIMIT_S,
    ) -> None:
        """Compile `source`, a jinja2 template; raises TemplateFailed if it cannot be."""
        if len(source) > MAX_TEMPLATE_LENGTH:
            raise _failure("it is longer than a chat template can be")
        self.origin = origin
        self._time_limit_s = time_limit_s
        self._special = {"bos_token": bos_token, "eos_token": eos_token}
        self._environment: BoundedEnvironment
        self._template: jinja2.Template
        self._environment, self._template = self._guarded(lambda: compile_template(source))

    @property
    def stop(self) -> tuple[str, ...]:
        """Return the texts at which an answer is over although no token says so: the next turn in plain text."""
        return ("\nUser:",) if self.origin is TemplateOrigin.PLAIN else ()

    def render(self, messages: Sequence[ChatMessage], *, add_generation_prompt: bool = True) -> str:
        """Return the prompt text for `messages`, ready for the assistant to continue.

        A template that refuses a system message gets it as the beginning of the first user message. Raises
        TemplateFailed, with the template's own words where it has some ("Conversation roles must alternate").
        """
        try:
            return self._render(messages, add_generation_prompt)
        except TemplateFailed:
            folded = fold_system(messages)
            if folded == tuple(messages):
                raise
            try:
                return self._render(folded, add_generation_prompt)
            except TemplateFailed:
                pass
            raise

    def _render(self, messages: Sequence[ChatMessage], add_generation_prompt: bool) -> str:
        self._environment.renew()
        variables: dict[str, Any] = {
            **self._special,
            "messages": [{"role": message.role.value, "content": message.text} for message in messages],
            "add_generation_prompt": add_generation_prompt,
            "tools": None,
            "documents": None,
            "raise_exception": _raise_exception,
            "strftime_now": _strftime_now,
        }
        return self._guarded(lambda: self._template.render(variables))

    def _guarded(self, work: Callable[[], T]) -> T:
        """Do `work` within the time limit; whatever goes wrong in a template becomes TemplateFailed."""
        try:
            with deadline(self._time_limit_s):
                return work()
        except TimeUp:
            raise _failure("it does not come to an end") from None
        except _Refused as refusal:
            raise _failure(f"it says “{refusal}”") from refusal
        except TooMuch as error:
            raise _failure(str(error)) from error
        except jinja2.TemplateSyntaxError as error:
            raise _failure(f"line {error.lineno} cannot be read ({error.message})") from error
        except (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise _failure(str(error) or type(error).__name__) from error
        except (AttributeError, RecursionError, MemoryError, SyntaxError) as error:
            raise _failure("it ends in an error", detail=repr(error)) from error


def choose_template(
    source: str, *, has_token: Callable[[str], bool], bos_token: str = "", eos_token: str = ""
) -> ChatTemplate:
    """Return the model's own template; without one ChatML where its tokens exist, else plain text.

    `source` is the model's template, "" if it has none; `has_token` says whether a text is one token of the
    model.
    """
    origin = TemplateOrigin.MODEL
    if not source.strip():
        is_chatml = has_token("<|im_start|>") and has_token("<|im_end|>")
        origin = TemplateOrigin.CHATML if is_chatml else TemplateOrigin.PLAIN
        source = CHATML if is_chatml else PLAIN
    return ChatTemplate(source, origin=origin, bos_token=bos_token, eos_token=eos_token)


def fold_system(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Return `messages` with the leading system message put in front of the first user message."""
    if len(messages) < 2 or messages[0].role is not Role.SYSTEM or messages[1].role is not Role.USER:
        return tuple(messages)
    first = ChatMessage(Role.USER, f"{messages[0].text}\n\n{messages[1].text}")
    return (first, *messages[2:])


def _failure(reason: str, *, detail: str = "") -> SlipstreamError:
    return TemplateFailed(
        f"The model's chat template cannot be used for this conversation: {reason}.",
        remedy="Change the messages that it objects to, or choose another conversion of this model.",
        detail=detail,
    )


def _raise_exception(message: str) -> None:
    raise _Refused(message)


def _strftime_now(layout: str) -> str:
    if len(layout) > 200:
        raise TooMuch("it asks for a date too long")
    return datetime.now().strftime(layout)
