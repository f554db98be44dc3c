"""`slipstream budget`, as a person and as a script run it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.cli.arguments import parse_arguments
from engine.cli.models.entries import find_entry
from engine.errors import BadOption
from tests.engine.cli.slipstream import LLAMA, LLAMA_DRAFT, MODELS, slipstream
from tests.gguf_patch import replace_strings


def asked(*arguments: str) -> dict[str, Any]:
    outcome = slipstream("budget", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    told: dict[str, Any] = json.loads(outcome.out)
    return told


def test_json_has_every_context_with_its_segments() -> None:
    told = asked(LLAMA, "--drafter", LLAMA_DRAFT, "--contexts", "1024,4096", "--kv", "f16,q8_0", "--race")
    assert [(each["n_ctx"], each["kv_type"]) for each in told["contexts"]] == [
        (1024, "f16"),
        (4096, "f16"),
        (1024, "q8_0"),
        (4096, "q8_0"),
    ]
    for each in told["contexts"]:
        segments = each["segments"]
        assert each["fits"] is True
        assert each["total_bytes"] == sum(segments.values())
        assert each["kept_free_bytes"] > 0
        raced = ("kv", "compute", "output")
        assert segments["race"] == sum(segments[name] for name in raced)
        assert {"weights", "drafter_weights", "drafter_kv", "drafter_compute"} <= set(segments)
        assert sum(sum(of_device.values()) for of_device in each["by_device"].values()) == each["total_bytes"]
    assert told["largest_context_that_fits"] == told["n_ctx_train"] == 4096
    assert told["devices"][0]["name"] == "CPU"
    assert told["is_estimate"] is False


def test_a_head_inside_the_target_and_a_head_beside_it() -> None:
    inside = asked(str(MODELS / "qwen35.gguf"), "--drafter", "mtp", "--contexts", "2048")
    beside = asked(
        str(MODELS / "qwen35-nomtp.gguf"), "--drafter", str(MODELS / "mtp-qwen35.gguf"), "--contexts", "2048"
    )
    assert inside["drafter"] == beside["drafter"] == "mtp"
    of_inside, of_beside = (told["contexts"][0]["segments"] for told in (inside, beside))
    assert of_inside["drafter_kv"] == of_beside["drafter_kv"]
    assert "drafter_weights" not in of_inside
    assert of_beside["drafter_weights"] > 0


def test_a_person_reads_a_table_and_the_largest_context() -> None:
    outcome = slipstream("budget", LLAMA)
    assert outcome.code == 0
    assert "llama.gguf with n-gram lookup, in MiB" in outcome.out
    assert "context, f16  weights  cache  compute  total" in outcome.out
    assert "The largest context that fits: 4,096 tokens, the model's own limit." in outcome.out


def test_a_context_beyond_the_model_is_said_to_be_beyond_it() -> None:
    outcome = slipstream("budget", LLAMA, "--contexts", "1_000_000_000")
    assert outcome.code == 0
    assert "more than the model can look back" in outcome.out
    assert asked(LLAMA, "--contexts", "8192")["contexts"][0]["is_beyond_model"] is True


def test_an_architecture_of_the_future_is_estimated_with_its_error(tmp_path: Path) -> None:
    data = (MODELS / "llama.gguf").read_bytes().replace(b"llama.", b"lxama.")
    path = tmp_path / "future.gguf"
    path.write_bytes(replace_strings(data, {"general.architecture": "lxama"}))
    told = asked(str(path), "--contexts", "4096")
    known = asked(LLAMA, "--contexts", "4096")
    assert told["is_estimate"] is True
    assert 0 < told["error_fraction"] < 0.5
    assert told["contexts"][0]["segments"]["kv"] == known["contexts"][0]["segments"]["kv"]
    outcome = slipstream("budget", str(path))
    assert "Estimated, within 10%." in outcome.out


def test_without_a_network_a_bundle_of_the_catalogue_is_estimated_from_its_facts() -> None:
    nowhere = {"HF_ENDPOINT": "http://127.0.0.1:9"}
    outcome = slipstream("budget", "qwen3-8b", "--contexts", "8192", "--json", environment=nowhere)
    assert outcome.code == 0, outcome.err
    told = json.loads(outcome.out)
    assert told["is_estimate"] is True
    entry = find_entry("qwen3-8b")
    assert entry is not None
    segments = told["contexts"][0]["segments"]
    assert segments["weights"] == entry.target_bytes
    assert segments["kv"] == 8192 * entry.memory.kv_bytes_per_token


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nothing"], "There is no model “nothing” on this computer."),
        ([str(MODELS / "step35.gguf"), "--drafter", str(MODELS / "llama-eagle3.gguf")], "does not fit"),
    ],
)
def test_what_cannot_be_measured_is_a_sentence(arguments: list[str], sentence: str) -> None:
    outcome = slipstream("budget", *arguments)
    assert outcome.code == 1
    assert sentence in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--contexts", "many"], "The contexts must be whole numbers"),
        (["--contexts", "3"], "A context must be between"),
        (["--kv", "q5_1"], "The cache types are f16, q8_0 and q4_0"),
        (["--gpu-layers", "-2"], "The number of layers on the GPU"),
        (["--draft", "99"], "The draft must be between 0 and"),
    ],
)
def test_a_wrong_option_is_a_sentence_before_anything_starts(arguments: list[str], sentence: str) -> None:
    act = parse_arguments(["budget", LLAMA, *arguments]).act
    assert act is not None
    with pytest.raises(BadOption, match=sentence):
        act()
