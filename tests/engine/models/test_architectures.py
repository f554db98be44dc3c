"""What is written down of llama.cpp's architectures, held against the library that is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from llama_cpp import llama_cpp as api

from engine.llama.library import LlamaLibrary
from engine.models.architectures import (
    ENCODERS,
    HAS_MTP_GRAPH,
    HYBRID,
    KNOWN,
    OTHER,
    PUBLISHES_FINAL_STATE,
    PUBLISHES_HIDDEN_STATES,
    PUBLISHES_LAST_LAYER,
    RECURRENT,
    ROLLS_STATE_BACK,
)
from engine.models.facts import read_facts
from tests.engine.models.gguf_writer import gguf

ROOT = Path(__file__).parents[3]
TINY_MODELS = ROOT / "tests" / "models"


def test_what_is_said_of_an_architecture_is_said_of_one_that_is_known() -> None:
    for group in (
        ENCODERS,
        OTHER,
        HAS_MTP_GRAPH,
        HYBRID,
        RECURRENT,
        PUBLISHES_FINAL_STATE,
        PUBLISHES_HIDDEN_STATES,
    ):
        assert group <= KNOWN
    assert PUBLISHES_LAST_LAYER <= PUBLISHES_HIDDEN_STATES
    assert ROLLS_STATE_BACK <= HYBRID
    assert not RECURRENT & HYBRID
    assert not ENCODERS & OTHER
    # A head that is run without the target's last state would draft noise.
    assert HAS_MTP_GRAPH <= PUBLISHES_FINAL_STATE


def test_llama_cpp_knows_those_that_are_known_here_and_no_other(llama: LlamaLibrary, tmp_path: Path) -> None:
    params = api.llama_model_default_params()
    params.vocab_only = True
    path = tmp_path / "file.gguf"
    known = set()
    for name in (*KNOWN, "gptj", "zephyr9"):
        path.write_bytes(gguf({"general.architecture": name}))
        with llama.log.recording() as record:
            assert not api.llama_model_load_from_file(os.fsencode(path), params)
        log = "\n".join(line.text for line in record.lines)
        if "unknown model architecture" not in log and "unsupported model architecture" not in log:
            known.add(name)
    assert known == KNOWN


@pytest.mark.skipif(sys.platform == "win32", reason="the function has another name there")
@pytest.mark.parametrize("name", ["llama", "qwen35", "gemma4", "step35"])
def test_llama_cpp_publishes_hidden_states_where_it_is_said_to_and_aborts_elsewhere(name: str) -> None:
    path = TINY_MODELS / f"{name}.gguf"
    command = [sys.executable, "-m", "tests.engine.models.ask_for_layers", str(path)]
    # Else an abort starts a debugger.
    environment = os.environ | {"GGML_NO_BACKTRACE": "1"}
    result = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    is_said = read_facts(path).architecture in PUBLISHES_HIDDEN_STATES
    assert (result.stdout == "published\n") is is_said, result.stderr
    assert (result.returncode == 0) is is_said
