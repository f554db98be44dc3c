"""From what was asked to the tokens that the model reads."""

from __future__ import annotations

from collections.abc import Sequence

from engine.chat.messages import ChatMessage, Role
from engine.chat.template import choose_template
from engine.errors import EmptyPrompt
from engine.llama.model import Model
from engine.llama.vocabulary import Vocabulary
from engine.worker.messages import Prompt


def prompt_tokens(model: Model, prompt: Prompt) -> list[int]:
    """Return the tokens of `prompt`.

    Messages go through the model's template, raw text is taken as it is, but for control tokens that it names
    ("<|im_start|>"), as llama-server does. Raises EmptyPrompt and TemplateFailed.
    """
    if prompt.messages:
        _require_text("".join(message.text for message in prompt.messages if message.role is Role.USER))
        text = _rendered(model, prompt.messages)
    else:
        _require_text(prompt.raw)
        text = prompt.raw
    return _with_bos(model.vocabulary, model.vocabulary.tokenize(text, add_special=False, parse_special=True))


def _rendered(model: Model, messages: Sequence[ChatMessage]) -> str:
    vocabulary = model.vocabulary
    template = choose_template(
        model.chat_template,
        has_token=lambda text: len(vocabulary.tokenize(text, add_special=False, parse_special=True)) == 1,
        bos_token=_token_text(vocabulary, vocabulary.bos),
        eos_token=_token_text(vocabulary, vocabulary.eos),
    )
    return template.render(messages)


def _with_bos(vocabulary: Vocabulary, tokens: list[int]) -> list[int]:
    """Begin with the model's BOS where it wants one; templates may have written it already, and twice is once too often."""
    if not vocabulary.adds_bos or vocabulary.bos is None or tokens[:1] == [vocabulary.bos]:
        return tokens
    return [vocabulary.bos, *tokens]


def _token_text(vocabulary: Vocabulary, token: int | None) -> str:
    return "" if token is None else vocabulary.text(token).decode("utf-8", errors="replace")


def _require_text(text: str) -> None:
    if not text.strip():
        raise EmptyPrompt("The prompt is empty.", remedy="Write something to answer.")
