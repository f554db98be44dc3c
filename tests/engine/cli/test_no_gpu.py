"""A computer, or a build of llama.cpp, without a GPU: all works, and it is said that there is none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.llama.devices import list_devices
from engine.llama.library import LlamaLibrary
from engine.service import Service
from engine.worker.messages import LoadSettings
from tests.engine.cli.slipstream import SMALL, slipstream
from tests.engine.worker.real import Engine


@pytest.fixture(autouse=True)
def _only_without_gpu(llama: LlamaLibrary) -> None:
    if any(device.kind in ("gpu", "igpu") for device in list_devices()):
        pytest.skip("this build of llama.cpp has a GPU")


@pytest.fixture
def engine() -> Iterator[Engine]:
    service = Service()
    yield Engine(service)
    service.stop(timeout_s=10.0)


def test_layers_asked_onto_a_gpu_stay_on_the_processor_and_are_reported_there(engine: Engine) -> None:
    loaded = engine.load(settings=LoadSettings(n_ctx=256, n_threads=1, n_gpu_layers=99))
    assert loaded.target.n_layers > 0
    assert loaded.target.n_layers_offloaded == 0


def test_an_answer_comes_although_a_gpu_was_asked_for() -> None:
    outcome = slipstream(
        "generate", *SMALL, "--gpu-layers", "99", "--prompt", "Hello", "--max-tokens", "4", "--json"
    )
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["lanes"][0]["tokens"]


def test_doctor_says_that_there_is_none(tmp_path: Path) -> None:
    outcome = slipstream("doctor", environment={"SLIPSTREAM_CONFIG_DIR": str(tmp_path)})
    assert "ok     No GPU: this build of llama.cpp sees none" in outcome.out
