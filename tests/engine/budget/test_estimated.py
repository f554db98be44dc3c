"""Estimates are given in the ways in which llama.cpp is asked: any number of layers on a GPU, any length of a draft."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.budget.budget import Segment
from engine.budget.estimated import EstimatedFiles
from engine.budget.measures import UseByDevice, Way
from engine.budget.room import HOST
from engine.models.gguf_header import GgufHeader, read_header


@pytest.fixture
def header(tiny_models: Path) -> GgufHeader:
    return read_header(tiny_models / "qwen35.gguf")


def total_bytes(use: UseByDevice) -> int:
    return sum(n_bytes for segments in use.values() for n_bytes in segments.values())


def test_layers_that_are_not_on_the_gpu_are_in_main_memory(header: GgufHeader) -> None:
    files = EstimatedFiles(header, header, "CUDA0")
    everything, half, nothing = (
        files.use(Way(4096, n_gpu_layers=n)) for n in (-1, (files.n_layers + 1) // 2, 0)
    )
    assert Segment.WEIGHTS not in everything[HOST]
    for segment in (Segment.WEIGHTS, Segment.KV, Segment.DRAFTER_WEIGHTS):
        assert 0 < half["CUDA0"][segment] < everything["CUDA0"][segment]
        assert nothing[HOST][segment] == everything["CUDA0"][segment]
    assert total_bytes(everything) == total_bytes(half) == total_bytes(nothing)


def test_without_a_gpu_all_of_it_is_in_main_memory(header: GgufHeader) -> None:
    files = EstimatedFiles(header, None, HOST)
    assert files.use(Way(4096, n_gpu_layers=1)) == files.use(Way(4096))


def test_a_longer_draft_keeps_more_states(header: GgufHeader) -> None:
    states = [
        EstimatedFiles(header, header, HOST, n_rs_seq).use(Way(4096))[HOST][Segment.STATE]
        for n_rs_seq in (0, 3, 8)
    ]
    assert states == [states[0], 4 * states[0], 9 * states[0]]
    without = EstimatedFiles(header, header, HOST, 8).use(Way(4096, with_drafter=False))
    assert without[HOST][Segment.STATE] == states[0]
