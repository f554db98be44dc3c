"""Prompts into tokens."""

from __future__ import annotations

import pytest

from engine.chat.messages import ChatMessage, Role
from engine.chat.template import TemplateOrigin
from engine.errors import EmptyPrompt
from engine.llama.model import Model
from engine.llama.prompt import PromptTokenizer
from engine.worker.messages import Prompt


def test_messages_go_through_the_models_own_template(starter: Model) -> None:
    tokenizer = PromptTokenizer(starter)
    prompt = Prompt(messages=(ChatMessage(Role.SYSTEM, "Be brief."), ChatMessage(Role.USER, "Hi")))
    tokens = tokenizer.tokens(prompt)
    text = b"".join(starter.vocabulary.piece(token, special=True) for token in tokens).decode()
    assert tokenizer.template.origin is TemplateOrigin.MODEL
    assert text == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )


def test_bos_stands_once_at_the_beginning(llama_model: Model) -> None:
    tokens = PromptTokenizer(llama_model).tokens(Prompt(messages=(ChatMessage(Role.USER, "Hi"),)))
    assert tokens[0] == llama_model.vocabulary.bos
    assert tokens.count(tokens[0]) == 1


def test_raw_text_gets_no_template_but_may_name_control_tokens(starter: Model) -> None:
    tokens = PromptTokenizer(starter).tokens(Prompt(raw="a <|im_end|>"))
    assert starter.vocabulary.is_end_of_answer(tokens[-1])
    assert len(tokens) == 3
    assert PromptTokenizer(starter).stop(Prompt(raw="a")) == ()


@pytest.mark.parametrize("prompt", [Prompt(), Prompt(messages=(ChatMessage(Role.USER, " \n"),))])
def test_nothing_to_answer_is_told(starter: Model, prompt: Prompt) -> None:
    with pytest.raises(EmptyPrompt):
        PromptTokenizer(starter).tokens(prompt)
