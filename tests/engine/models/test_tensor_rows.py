"""Rows of a tensor out of a file, in each type that can be read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.models.gguf_header import read_header
from engine.models.tensor_rows import TensorRows
from tests.make_models.gguf_file import read_weights

F16, Q4_K, Q8_0, BF16 = 1, 12, 8, 30
IDS = np.array([2, 0, 2], np.int32)


def test_rows_of_a_file_are_its_weights(tiny_models: Path) -> None:
    path = tiny_models / "llama-dspark.gguf"
    rows = TensorRows.open(path, read_header(path), "markov_w2.weight")
    assert rows is not None
    assert len(rows) == 384
    assert np.array_equal(rows.rows(IDS), read_weights(path)["markov_w2.weight"][IDS])


def test_what_is_not_there_or_no_table_is_not_read(tiny_models: Path, tmp_path: Path) -> None:
    path = tiny_models / "llama-dspark.gguf"
    header = read_header(path)
    assert TensorRows.open(path, header, "markov_w3.weight") is None
    assert TensorRows.open(path, header, "output_norm.weight") is None
    assert TensorRows.open(tmp_path / "gone.gguf", header, "markov_w1.weight") is None


@pytest.mark.parametrize("kind", [F16, BF16])
def test_half_precision(kind: int) -> None:
    numbers = np.array([[0.5, -2.0], [1.0, 3.0], [-0.25, 8.0]], np.float32)
    halves = numbers.astype(np.float16) if kind == F16 else (numbers.view(np.uint32) >> 16).astype(np.uint16)
    assert np.array_equal(TensorRows(halves.view(np.uint8), kind, 2).rows(IDS), numbers[IDS])


def test_blocks_of_eight_bits() -> None:
    chance = np.random.default_rng(0)
    whole = chance.integers(-128, 128, (3, 2, 32)).astype(np.int8)
    scales = np.array([[0.5, 2.0], [1.0, 0.25], [4.0, 1.0]], np.float16)
    raw = np.concatenate((scales[..., None].view(np.uint8), whole.view(np.uint8)), axis=2).reshape(3, -1)
    wanted = (whole * scales[..., None].astype(np.float32)).reshape(3, 64)
    assert np.array_equal(TensorRows(raw, Q8_0, 64).rows(IDS), wanted[IDS])
