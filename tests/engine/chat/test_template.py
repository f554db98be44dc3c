"""Chat templates: what they give, and that none of them can hang or fill the worker."""

from __future__ import annotations

import sys
import time

import pytest

from engine.chat.messages import ChatMessage, Role
from engine.chat.template import ChatTemplate, TemplateOrigin, choose_template, fold_system
from engine.errors import TemplateFailed

HELLO = (ChatMessage(Role.SYSTEM, "Be brief."), ChatMessage(Role.USER, "Hi"))
FOR = "{% for a in range(99999) %}"
GEMMA = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant') }}{% endif %}"
    "<start_of_turn>{{ message['role'] }}\n{{ message['content'] | trim }}<end_of_turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)


def render(source: str, *, time_limit_s: float = 2.0) -> str:
    return ChatTemplate(source, bos_token="<s>", time_limit_s=time_limit_s).render(HELLO)


def test_what_chat_templates_use_works() -> None:
    source = """
    {%- set ns = namespace(found=false) -%}
    {%- for message in messages -%}
        {%- if message.role == 'system' -%}{%- set ns.found = true -%}{%- continue -%}{%- endif -%}
        {%- generation -%}[{{ message['content'].strip().split(' ')[-1] ~ '!' }}]{%- endgeneration -%}
        {%- if loop.last -%}{%- break -%}{%- endif -%}
    {%- endfor -%}
    {{- {'a': 'é', 'b': [1]} | tojson -}}
    {{- ns.found }} {{ tools is none }} {{ messages | selectattr('role', 'equalto', 'user') | list | length }}
    {{- ' ' + ', '.join(messages | map(attribute='role')) + '%s' % 1 + '{}'.format(2) }}
    {{- strftime_now('%Y') | length }}
    """
    assert render(source).strip() == '[Hi!]{"a": "é", "b": [1]}True True 1 system, user124'


def test_a_template_that_refuses_the_system_role_gets_it_in_the_first_user_message() -> None:
    text = ChatTemplate(GEMMA, bos_token="<bos>").render(HELLO)
    assert text == "<bos><start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n<start_of_turn>model\n"


def test_a_refusal_is_told_in_the_templates_own_words() -> None:
    twice = (ChatMessage(Role.USER, "a"), ChatMessage(Role.USER, "b"))
    with pytest.raises(TemplateFailed, match="it says “Conversation roles must alternate user/assistant”"):
        ChatTemplate(GEMMA).render(twice)


def test_folding_leaves_other_conversations_alone() -> None:
    assert fold_system(HELLO[1:]) == HELLO[1:]
    assert fold_system(HELLO[:1]) == HELLO[:1]


@pytest.mark.parametrize(
    "source",
    [
        FOR + FOR + FOR + "{% endfor %}{% endfor %}{% endfor %}",
        FOR + FOR + "{% set x = a * a %}{% endfor %}{% endfor %}",
        "{% macro m(n) %}" + FOR + "{{ m(n - 1) if n }}{% endfor %}{% endmacro %}{{ m(90) }}",
        FOR + "{% if range(99999) | map('string') | list | sort | length %}{% endif %}{% endfor %}",
    ],
)
def test_a_template_that_loops_is_ended(source: str) -> None:
    begin = time.monotonic()
    with pytest.raises(TemplateFailed, match="does not come to an end"):
        render(source, time_limit_s=0.3)
    assert time.monotonic() - begin < 2.0
    assert sys.gettrace() is None


def repeated(step: str) -> str:
    return "{% set ns = namespace(x='a', n=2) %}{% for i in range(60) %}" + step + "{% endfor %}"


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a' * 10**9 }}",
        "{{ 10**9 * 'a' }}",
        "{{ [1] * 10**9 }}",
        "{{ 9 ** (9 ** 9) }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '%*d' % (1000000000, 1) }}",
        "{{ '{:1000000000}'.format(1) }}",
        "{{ '{:{}}'.format(1, 1000000000) }}",
        "{{ 'a'.ljust(10**9) }}",
        "{{ 'a' | indent(10**9, true) }}",
        "{{ (1,) | tojson(indent=10**9) }}",
        repeated("{% set ns.x = ns.x ~ ns.x %}"),
        repeated("{% set ns.x = ns.x + ns.x %}"),
        repeated("{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}"),
        repeated("{% set ns.x = ns.x.replace('a', 'aa') %}"),
        repeated("{% set ns.x = ns.x | replace('a', 'aa') %}"),
        repeated("{% set ns.x = [ns.x, ns.x] | join %}"),
        repeated("{% set ns.n = ns.n * ns.n %}"),
        "{% set x = 'a' * 7000000 %}{{ x.join(['', '', '', '']) }}",
        "{% set x = 'a' * 7000000 %}{% for i in range(99999) %}{{ x }}{% endfor %}",
    ],
)
def test_a_template_that_grows_without_bound_is_ended(source: str) -> None:
    begin = time.monotonic()
    with pytest.raises(TemplateFailed):
        render(source)
    assert time.monotonic() - begin < 2.0


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}{{ messages.__class__.__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{{ self.__init__.__globals__ }}",
        "{{ messages | attr('__class__') }}",
        "{{ lipsum(9) }}",
    ],
)
def test_a_template_cannot_reach_out_of_the_sandbox(source: str) -> None:
    with pytest.raises(TemplateFailed):
        render(source)


@pytest.mark.parametrize(
    "source",
    [
        "{% for %}",
        "{{ 1 / 0 }}",
        "{{ messages[0].x.y }}",
        "{{ none + 1 }}",
        "{{ " + "(" * 5000,
        "{{ '%d' % 'x' }}",
        "x" * 1_000_001,
    ],
)
def test_a_broken_template_fails_with_a_sentence(source: str) -> None:
    with pytest.raises(TemplateFailed) as caught:
        render(source)
    assert caught.value.sentence.endswith(".")
    assert caught.value.remedy


def test_a_template_is_usable_after_it_was_ended() -> None:
    template = ChatTemplate("{% if messages[0].content == 'x' %}{{ 'a' * 10**9 }}{% endif %}ok")
    with pytest.raises(TemplateFailed):
        template.render([ChatMessage(Role.USER, "x")])
    assert template.render([ChatMessage(Role.USER, "y")]) == "ok"


def test_a_long_conversation_is_no_trouble() -> None:
    messages = [ChatMessage(Role.USER, "word " * 2000)] * 500
    text = ChatTemplate(
        "{% for m in messages %}{{ '<|' + m.role + '|>' ~ m.content | trim }}{% endfor %}"
    ).render(messages)
    assert len(text) > 4_900_000


@pytest.mark.parametrize(
    ("source", "tokens", "origin", "beginning"),
    [
        ("{{ bos_token }}own", {"<|im_start|>", "<|im_end|>"}, TemplateOrigin.MODEL, "<s>own"),
        (
            "",
            {"<|im_start|>", "<|im_end|>"},
            TemplateOrigin.CHATML,
            "<|im_start|>system\nBe brief.<|im_end|>\n",
        ),
        ("  ", {"<|im_start|>"}, TemplateOrigin.PLAIN, "Be brief.\n\nUser: Hi\nAssistant:"),
    ],
)
def test_a_model_without_a_template_gets_one_that_fits(
    source: str, tokens: set[str], origin: TemplateOrigin, beginning: str
) -> None:
    template = choose_template(source, has_token=tokens.__contains__, bos_token="<s>")
    assert template.origin is origin
    assert template.stop == (("\nUser:",) if origin is TemplateOrigin.PLAIN else ())
    assert template.render(HELLO).startswith(beginning)
