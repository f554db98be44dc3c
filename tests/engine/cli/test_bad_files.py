"""Files that cannot be used, given to the command: a sentence each, exit code 1, no traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.shelf.starter import find_starter
from tests.engine.cli.slipstream import LLAMA, LLAMA_DRAFT, MODELS, SMALL, assert_plain_failure, slipstream
from tests.gguf_patch import fill_string, replace_strings

TEMPLATE = "tokenizer.chat_template"
LOOP = "{% for i in range(99999) %}" * 3 + "{% endfor %}" * 3

Make = Callable[[bytes], bytes]


def truncated(data: bytes) -> bytes:
    return data[:200_000]


def of_unknown_architecture(data: bytes) -> bytes:
    return replace_strings(data, {"general.architecture": "xlama"})


def projector(data: bytes) -> bytes:
    return replace_strings(data, {"general.architecture": "clip", "general.name": "mmproj"})


def template_that_raises(data: bytes) -> bytes:
    return fill_string(data, TEMPLATE, "{{ raise_exception('Roles must alternate') }}")


def template_that_loops(data: bytes) -> bytes:
    return fill_string(data, TEMPLATE, LOOP)


@pytest.mark.parametrize(
    ("make", "option", "said"),
    [
        (truncated, "--target", "model é.gguf"),
        (truncated, "--drafter", "model é.gguf"),
        (of_unknown_architecture, "--target", "xlama"),
        (projector, "--target", "projector"),
        (projector, "--drafter", "projector"),
        (template_that_raises, "--target", "Roles must alternate"),
        (template_that_loops, "--target", "does not come to an end"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_sentence(make: Make, option: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "model é.gguf"
    path.write_bytes(make(Path(LLAMA).read_bytes()))
    outcome = slipstream("generate", *SMALL, option, str(path), "--prompt", "Hello", "--json")
    assert_plain_failure(outcome, 1)
    assert said in outcome.err


@pytest.mark.parametrize("option", ["--target", "--drafter"])
def test_a_file_that_is_gone_is_a_sentence(option: str, tmp_path: Path) -> None:
    path = tmp_path / "gone.gguf"
    outcome = slipstream("generate", *SMALL, option, str(path), "--prompt", "Hello", "--json")
    assert_plain_failure(outcome, 1)
    assert "gone.gguf" in outcome.err


def test_a_drafter_as_target_is_a_sentence() -> None:
    outcome = slipstream("generate", "--target", str(MODELS / "llama-eagle3.gguf"), "--prompt", "Hello")
    assert_plain_failure(outcome, 1)
    assert "drafter" in outcome.err


def test_a_drafter_of_another_vocabulary_is_a_sentence() -> None:
    starter = find_starter()
    if starter is None:
        pytest.skip("the starter model is not installed")
    outcome = slipstream(
        "generate", *SMALL, "--target", starter.target, "--drafter", LLAMA_DRAFT, "--prompt", "Hello"
    )
    assert_plain_failure(outcome, 1)
    assert "This drafter does not fit the target" in outcome.err


def test_a_name_that_is_not_utf8_is_wrong_usage() -> None:
    outcome = slipstream("generate", "--target", "/tmp/\udcff.gguf", "--prompt", "Hello")
    assert_plain_failure(outcome, 2)
    assert "--target" in outcome.err
