"""No wrong pair reaches llama.cpp: the headers say why it does not fit, and the worker lives on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.models.bundle import DrafterChoice, DrafterKind
from engine.models.facts import read_facts
from engine.models.pairing import judge, judge_head_inside
from engine.service import Service
from engine.worker.messages import Ready
from tests.engine.llama.wrong_pairs import (
    MISFITS,
    MISTAKEN,
    WrongPair,
    draft_model,
    write_mimo2_with_parted_attention,
)
from tests.engine.worker.real import Engine
from tests.make_models.gguf_file import TRAINED, tokenizer

HEAD_INSIDE = DrafterChoice(DrafterKind.MTP)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    service = Service()
    yield Engine(service)
    service.stop(timeout_s=30.0)


def name_of(pair: WrongPair) -> str:
    return pair.name


@pytest.mark.parametrize("pair", MISFITS, ids=name_of)
def test_headers_tell_why_a_pair_does_not_fit(pair: WrongPair, tmp_path: Path) -> None:
    verdict = judge(read_facts(pair.target_path), read_facts(pair.drafter(tmp_path)))
    assert not verdict.fits
    assert pair.reason
    assert pair.reason in verdict.reason


@pytest.mark.parametrize("pair", MISFITS, ids=name_of)
def test_the_worker_refuses_it_with_that_reason_and_lives_on(
    engine: Engine, pair: WrongPair, tmp_path: Path
) -> None:
    refused(engine, str(pair.target_path), DrafterChoice(pair.kind, str(pair.drafter(tmp_path))), pair.reason)


@pytest.mark.parametrize("pair", MISTAKEN, ids=name_of)
def test_a_drafter_asked_to_be_another_kind_is_called_by_its_own(
    engine: Engine, pair: WrongPair, tmp_path: Path
) -> None:
    refused(engine, str(pair.target_path), DrafterChoice(pair.kind, str(pair.drafter(tmp_path))), pair.reason)


@pytest.mark.parametrize("name", ["llama", "qwen35-nomtp", "gemma4"])
def test_a_head_inside_that_is_not_there_is_missed(engine: Engine, name: str) -> None:
    path = TRAINED / f"{name}.gguf"
    reason = "has no MTP head inside"
    assert reason in judge_head_inside(read_facts(path)).reason
    refused(engine, str(path), HEAD_INSIDE, reason)


def test_heads_that_llama_cpp_asserts_on_are_refused(engine: Engine, tmp_path: Path) -> None:
    path = write_mimo2_with_parted_attention(tmp_path)
    reason = "attn_qkv.weight is missing"
    assert reason in judge_head_inside(read_facts(path)).reason
    refused(engine, str(path), HEAD_INSIDE, reason)


@pytest.mark.parametrize("name", ["mtp-qwen35", "mtp-step35", "mtp-gemma4", "llama-eagle3", "llama-dspark"])
def test_a_drafter_that_is_asked_to_answer_is_refused(engine: Engine, name: str) -> None:
    refused(engine, str(TRAINED / f"{name}.gguf"), DrafterChoice(), "drafter")


def test_a_draft_model_with_a_hundred_tokens_more_drafts_only_what_the_target_knows(
    engine: Engine, tmp_path: Path
) -> None:
    """llama.cpp's own drafting aborts at the first drafted token that the target does not have."""
    drafter = draft_model(tokenizer(n_more=100), 100)(tmp_path)
    engine.load(drafter=DrafterChoice(DrafterKind.MODEL, str(drafter)))
    tokens = engine.tokens(engine.generate(), lane=1)
    assert tokens
    assert tokens == engine.tokens(engine.generate(speculative=False), lane=0)


def test_after_all_that_the_same_worker_still_answers(engine: Engine) -> None:
    refused(engine, str(TRAINED / "llama-eagle3.gguf"), DrafterChoice(), "drafter")
    engine.load()
    assert engine.tokens(engine.generate(), lane=1)
    assert len(engine.listener.of(Ready)) == 1, "a worker was lost"


def refused(engine: Engine, target: str, drafter: DrafterChoice, reason: str) -> None:
    """Assert that loading fails with `reason` and a remedy, and that no worker was lost over it."""
    failed = engine.fail_to_load(target, drafter)
    assert reason in failed.sentence, failed
    assert failed.remedy, failed
    assert len(engine.listener.of(Ready)) == 1, "a worker was lost"
