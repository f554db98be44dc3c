"""A request's prompt as tokens: messages through the chat template, or text as it is."""

from __future__ import annotations

from typing import Final

from engine.chat.messages import Prompt
from engine.chat.template import ChatTemplate, choose_template
from engine.errors import EmptyPrompt
from engine.llama.model import Model
from engine.llama.vocabulary import Vocabulary

_EMPTY: Final = "There is nothing to answer yet."
_WRITE: Final = "Write a message first."


class PromptTokenizer:
    """Turns prompts into tokens of one model. The template is compiled at the first conversation."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._template: ChatTemplate | None = None

    @property
    def template(self) -> ChatTemplate:
        """Return the chat template in use; raises TemplateFailed if the model's own cannot be read."""
        if self._template is None:
            vocabulary = self._model.vocabulary
            self._template = choose_template(
                self._model.chat_template,
                has_token=lambda text: _is_one_token(vocabulary, text),
                bos_token=_special_text(vocabulary, vocabulary.bos),
                eos_token=_special_text(vocabulary, vocabulary.eos),
            )
        return self._template

    def tokens(self, prompt: Prompt) -> list[int]:
        """Return the tokens of `prompt`; raises EmptyPrompt or TemplateFailed."""
        if prompt.messages:
            if not any(message.text.strip() for message in prompt.messages):
                raise EmptyPrompt(_EMPTY, remedy=_WRITE)
            return self._chat_tokens(prompt)
        if not prompt.raw:
            raise EmptyPrompt(_EMPTY, remedy=_WRITE)
        # Control tokens written out count, as in llama-server's /completion: a raw prompt is a whole template.
        return self._model.vocabulary.tokenize(prompt.raw, parse_special=True)

    def stop(self, prompt: Prompt) -> tuple[str, ...]:
        """Return the texts that end an answer to `prompt`, besides those that the request names."""
        return self.template.stop if prompt.messages else ()

    def _chat_tokens(self, prompt: Prompt) -> list[int]:
        vocabulary = self._model.vocabulary
        text = self.template.render(prompt.messages)
        # Many templates write BOS themselves; a second one would put the model off.
        bos = _special_text(vocabulary, vocabulary.bos)
        has_bos = bool(bos) and text.startswith(bos)
        return vocabulary.tokenize(text, add_special=not has_bos, parse_special=True)


def _special_text(vocabulary: Vocabulary, token: int | None) -> str:
    if token is None:
        return ""
    return vocabulary.piece(token, special=True).decode("utf-8", errors="replace")


def _is_one_token(vocabulary: Vocabulary, text: str) -> bool:
    return len(vocabulary.tokenize(text, add_special=False, parse_special=True)) == 1
