"""A model's facts: from its header, its parts, and from headers alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import FileGone
from engine.llama.model import Model
from engine.models.bundle import DrafterKind
from engine.models.facts import read_facts
from engine.models.file_kind import FileKind
from engine.models.gguf_header import read_header
from tests.engine.models.gguf_writer import Entry, gguf, tensor

TINY_MODELS = Path(__file__).parents[2] / "models"
TOKENS: dict[str, Entry] = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": ["a", "b", "c"]}


def write(path: Path, metadata: dict[str, Entry], *tensors: bytes, data_bytes: int = 0) -> Path:
    path.write_bytes(gguf(metadata, tensors, data_bytes=data_bytes))
    return path


def header_only(path: Path, folder: Path) -> Path:
    """Write the header of `path` into a file of the same length that holds nothing else."""
    header = read_header(path)
    sparse = folder / path.name
    with sparse.open("wb") as file:
        file.write(path.read_bytes()[: header.data_offset])
        file.truncate(header.file_bytes)
    return sparse


def test_facts_of_a_target_are_those_that_llama_cpp_tells(llama_model: Model) -> None:
    facts = read_facts(TINY_MODELS / "llama.gguf")
    assert facts.kind is FileKind.TARGET
    assert facts.drafter_kind is DrafterKind.MODEL
    assert (facts.architecture, facts.name, facts.quantisation) == ("llama", "llama", "F32")
    assert facts.n_vocab == llama_model.vocabulary.n_tokens == 384
    assert (facts.n_embd, facts.n_layers, facts.n_ctx_train) == (64, 4, 4096)
    assert (facts.vocabulary.adds_bos, facts.vocabulary.bos) == (True, llama_model.vocabulary.bos)
    assert facts.has_chat_template
    assert facts.weights_bytes == 4 * facts.n_params
    assert facts.read_bytes == facts.weights_bytes - 383 * 64 * 4


def test_facts_of_drafters_say_what_they_were_made_for() -> None:
    eagle = read_facts(TINY_MODELS / "llama-eagle3.gguf")
    assert eagle.drafter_kind is DrafterKind.EAGLE3
    assert (eagle.drafter.target_layers, eagle.drafter.target_hidden_size) == ((1, 2, 3), 64)
    dflash = read_facts(TINY_MODELS / "llama-dflash.gguf")
    assert (dflash.drafter.block_size, dflash.drafter.target_hidden_size) == (8, 64)
    assert dflash.vocabulary.has_mask
    assert not eagle.vocabulary.has_mask
    assistant = read_facts(TINY_MODELS / "mtp-gemma4.gguf")
    assert (assistant.drafter.target_hidden_size, assistant.n_embd, assistant.n_layers) == (64, 32, 2)
    assert read_facts(TINY_MODELS / "llama-dspark.gguf").drafter_kind is DrafterKind.DSPARK


def test_layers_that_answer_are_counted_without_heads_and_heads_are_not_read() -> None:
    with_head, without = (
        read_facts(TINY_MODELS / "qwen35.gguf"),
        read_facts(TINY_MODELS / "qwen35-nomtp.gguf"),
    )
    assert (with_head.kind, with_head.drafter.n_heads) == (FileKind.TARGET_WITH_MTP, 1)
    assert (with_head.n_layers, without.n_layers) == (4, 4)
    assert with_head.weights_bytes > without.weights_bytes
    assert with_head.read_bytes == without.read_bytes
    assert read_facts(TINY_MODELS / "mtp-step35.gguf").read_bytes > 500_000


def test_of_a_mixture_of_experts_only_the_active_ones_are_read(tmp_path: Path) -> None:
    metadata: dict[str, Entry] = {
        "general.architecture": "qwen3moe",
        "qwen3moe.expert_count": 8,
        "qwen3moe.expert_used_count": 2,
        "qwen3moe.block_count": 1,
    }
    tensors = (
        tensor("token_embd.weight", [32, 10], 0),
        tensor("output.weight", [32, 10], 0, 1280),
        tensor("blk.0.attn_norm.weight", [32], 0, 2560),
        tensor("blk.0.ffn_up_exps.weight", [32, 32, 8], 0, 2688),
    )
    facts = read_facts(write(tmp_path / "moe.gguf", metadata, *tensors, data_bytes=36_000))
    assert (facts.n_experts, facts.n_experts_used) == (8, 2)
    assert facts.weights_bytes == 1280 + 1280 + 128 + 32 * 32 * 8 * 4
    assert facts.read_bytes == 128 + 1280 + 128 + 32 * 32 * 2 * 4
    assert 0.2 < facts.active_fraction < 0.3


def test_an_embedding_table_that_is_the_output_too_is_read_whole(tmp_path: Path) -> None:
    table = tensor("token_embd.weight", [32, 10], 0)
    path = write(tmp_path / "tied.gguf", {"general.architecture": "llama"}, table, data_bytes=1280)
    assert read_facts(path).read_bytes == 128 + 1280


@pytest.mark.parametrize("name", ["llama.gguf", "qwen35.gguf", "llama-eagle3.gguf", "mtp-gemma4.gguf"])
def test_a_header_alone_in_a_file_of_the_same_length_says_the_same(name: str, tmp_path: Path) -> None:
    whole = read_facts(TINY_MODELS / name)
    sparse = read_facts(header_only(TINY_MODELS / name, tmp_path))
    assert sparse.path != whole.path
    assert {**_fields(sparse), "path": ""} == {**_fields(whole), "path": ""}


def _fields(facts: object) -> dict[str, object]:
    return {name: getattr(facts, name) for name in facts.__struct_fields__}  # type: ignore[attr-defined]


def test_facts_are_those_of_all_parts_and_the_head_may_be_in_the_last(tmp_path: Path) -> None:
    keys: dict[str, Entry] = {
        "general.architecture": "qwen35",
        "qwen35.block_count": 2,
        "qwen35.nextn_predict_layers": 1,
        "split.count": 3,
    }
    tensors = ((), (tensor("blk.0.attn_norm.weight", [8]),), (tensor("blk.1.nextn.eh_proj.weight", [8, 8]),))
    paths = [tmp_path / f"big-Q8_0-{number:05d}-of-00003.gguf" for number in (1, 2, 3)]
    for number, path in enumerate(paths):
        own: dict[str, Entry] = keys | TOKENS if number == 0 else {"split.count": 3}
        write(path, {**own, "split.no": number}, *tensors[number], data_bytes=256)
    facts = read_facts(paths[0])
    assert (facts.kind, facts.n_parts, facts.n_layers, facts.n_vocab) == (FileKind.TARGET_WITH_MTP, 3, 1, 3)
    assert facts.file_bytes == sum(path.stat().st_size for path in paths)
    assert facts.n_params == 8 + 64
    assert read_facts(paths[1]).kind is FileKind.SHARD
    paths[2].unlink()
    with pytest.raises(FileGone, match="Part 3 of 3"):
        read_facts(paths[0])


def test_what_it_was_made_from_is_told(tmp_path: Path) -> None:
    metadata: dict[str, Entry] = {
        "general.architecture": "llama",
        "general.license": "apache-2.0",
        "general.base_model.count": 1,
        "general.base_model.0.name": "Qwen3 8B",
        "general.base_model.0.repo_url": "https://huggingface.co/Qwen/Qwen3-8B",
    }
    facts = read_facts(
        write(tmp_path / "m.gguf", metadata, tensor("blk.0.attn_norm.weight", [8]), data_bytes=32)
    )
    assert facts.base_models == ("Qwen3 8B", "https://huggingface.co/Qwen/Qwen3-8B")
    assert facts.licence == "apache-2.0"
    assert facts.n_vocab == 0
    assert facts.vocabulary.tokens_sha256 == ""
