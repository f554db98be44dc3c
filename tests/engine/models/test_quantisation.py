"""What a quantisation is called, by name and by header."""

from __future__ import annotations

import pytest

from engine.models.gguf_header import GgufHeader, parse_header
from engine.models.quantisation import bits_of, parse_quantisation, quantisation_of
from tests.engine.models.gguf_writer import Entry, gguf, tensor
from tests.engine.models.test_gguf_header import Bytes


def header(metadata: dict[str, Entry], *tensors: bytes) -> GgufHeader:
    return parse_header(Bytes(gguf(metadata, tensors)), "m.gguf")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", "Q4_K_M"),
        ("gemma-4-E4B-it-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("Qwen3.6-27B-DFlash-Q8_0.gguf", "Q8_0"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("BF16/Model-BF16-00001-of-00002.gguf", "BF16"),
        ("Llama-3.2-1B-Instruct.fp16.gguf", "F16"),
        ("model-IQ2_XXS.gguf", "IQ2_XXS"),
        ("model-TQ1_0.gguf", "TQ1_0"),
        ("Q4_K_M/model-q8_0.gguf", "Q8_0"),
        ("dflash.gguf", ""),
        ("Qwen3-8B.gguf", ""),
        ("phi-f32x.gguf", ""),
    ],
)
def test_the_last_label_of_a_name_counts(name: str, label: str) -> None:
    assert parse_quantisation(name) == label


def test_the_header_decides_and_the_name_may_only_refine() -> None:
    q4 = header({"general.file_type": 15})
    assert quantisation_of(q4) == "Q4_K_M"
    assert quantisation_of(q4, "model-UD-Q4_K_XL.gguf") == "UD-Q4_K_XL"
    assert quantisation_of(q4, "model-Q8_0.gguf") == "Q4_K_M"


def test_where_the_header_says_nothing_the_weights_do_then_the_name() -> None:
    weights = header({}, tensor("a", [256, 8], 14), tensor("b", [256, 1], 0), tensor("norm", [1 << 20], 0))
    assert quantisation_of(weights) == "Q6_K"
    assert quantisation_of(header({}), "m-Q5_K_S.gguf") == "Q5_K_S"
    assert quantisation_of(header({})) == ""
    assert quantisation_of(header({"general.file_type": 1024 + 7})) == "Q8_0"


def test_labels_have_bits() -> None:
    for label, bits in {"Q4_K_M": 4, "IQ3_XXS": 3, "BF16": 16, "MXFP4": 4, "UD-Q2_K_XL": 2, "": 0}.items():
        assert bits_of(label) == bits
