"""Grammars and schemas in the real worker: answers obey, and what cannot be used costs a sentence, not the worker."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from engine.service import Service
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import PLAIN_LANE, SPECULATIVE_LANE, Ready, Started
from tests.engine.worker.real import DRAFT_MODEL, RAW, Engine

SCHEMA = json.dumps({"enum": ["left", "right", "straight on"]})


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    service = Service()
    engine = Engine(service)
    engine.load(drafter=DRAFT_MODEL)
    yield engine
    service.stop(timeout_s=10.0)


def test_both_lanes_of_a_race_obey_a_schema(engine: Engine) -> None:
    settings = GenerationSettings(max_tokens=40, draft_length=3, json_schema=SCHEMA)
    finished = engine.race(RAW, settings)
    texts = {engine.text(finished.job, lane) for lane in (PLAIN_LANE, SPECULATIVE_LANE)}
    assert len(texts) == 1
    assert json.loads(texts.pop()) in ("left", "right", "straight on")
    assert finished.first_difference is None


def test_the_next_answer_is_free_again(engine: Engine) -> None:
    settings = GenerationSettings(max_tokens=16, draft_length=3)
    free = engine.tokens(engine.generate(RAW, settings), SPECULATIVE_LANE)
    engine.generate(RAW, GenerationSettings(max_tokens=16, grammar='root ::= "yes"'))
    assert engine.tokens(engine.generate(RAW, settings), SPECULATIVE_LANE) == free


@pytest.mark.parametrize(
    "settings",
    [
        GenerationSettings(grammar='root ::= root "a" | "b"'),
        GenerationSettings(grammar="root ::= " + "(" * 100_000),
        GenerationSettings(grammar='root ::= [a-c] !<[67]> "b"'),
        GenerationSettings(json_schema='{"type": "nothing"}'),
        GenerationSettings(json_schema="{}", grammar='root ::= "a"'),
    ],
    ids=lambda settings: (settings.grammar or settings.json_schema)[:30],
)
def test_what_cannot_be_used_is_refused_before_anything_runs(
    engine: Engine, settings: GenerationSettings
) -> None:
    job = engine.service.generate(RAW, settings, speculative=True)
    failed = engine.failure(job)
    assert failed.kind == "BadOption"
    assert failed.sentence.endswith(".")
    assert job not in [event.job for event in engine.listener.of(Started)]
    assert len(engine.listener.of(Ready)) == 1, "the worker was restarted"
