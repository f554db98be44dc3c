"""What is written down of llama.cpp's architectures, held against the library that is installed."""

from __future__ import annotations

import os
from pathlib import Path

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
from tests.engine.models.gguf_writer import gguf


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
