"""Every wrong pair that headers tell apart gets its reason; every right one fits."""

from __future__ import annotations

import struct
from pathlib import Path

import msgspec
import pytest

from engine.models.bundle import DrafterKind
from engine.models.facts import ModelFacts, read_facts
from engine.models.file_kind import FileKind
from engine.models.pairing import judge, judge_head_inside
from tests.engine.models.gguf_writer import BOOL, Entry, gguf, tensor
from tests.gguf_patch import replace_strings, replace_u32

TINY_MODELS = Path(__file__).parents[2] / "models"
WORDS = [f"w{i}" for i in range(600)]
WEIGHTS = (tensor("blk.0.attn_norm.weight", [8]), tensor("token_embd.weight", [8, 2], 0, 32))


def facts(name: str) -> ModelFacts:
    return read_facts(TINY_MODELS / name)


def flag(value: bool) -> bytes:
    return struct.pack("<I?", BOOL, value)


def model(path: Path, tokens: list[str], **more: Entry) -> ModelFacts:
    """Write a small model with these tokens and return its facts; `more` are keys of tokenizer.ggml."""
    metadata: dict[str, Entry] = {
        "general.architecture": "llama",
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": tokens,
        **{f"tokenizer.ggml.{key}": value for key, value in more.items()},
    }
    path.write_bytes(gguf(metadata, WEIGHTS, data_bytes=128))
    return read_facts(path)


@pytest.mark.parametrize(
    ("target", "drafter", "kind"),
    [
        ("llama.gguf", "llama-draft.gguf", DrafterKind.MODEL),
        ("llama.gguf", "llama-eagle3.gguf", DrafterKind.EAGLE3),
        ("llama.gguf", "llama-eagle3-d2t.gguf", DrafterKind.EAGLE3),
        ("llama.gguf", "llama-dflash.gguf", DrafterKind.DFLASH),
        ("llama.gguf", "llama-dspark.gguf", DrafterKind.DSPARK),
        ("llama.gguf", "llama-dspark-noanchor.gguf", DrafterKind.DSPARK),
        ("qwen35-nomtp.gguf", "mtp-qwen35.gguf", DrafterKind.MTP),
        ("qwen35.gguf", "qwen35-eagle3.gguf", DrafterKind.EAGLE3),
        ("qwen35.gguf", "qwen35-dflash.gguf", DrafterKind.DFLASH),
        ("gemma4.gguf", "mtp-gemma4.gguf", DrafterKind.MTP),
    ],
)
def test_the_pairs_that_were_trained_for_each_other_fit(target: str, drafter: str, kind: DrafterKind) -> None:
    verdict = judge(facts(target), facts(drafter))
    assert (verdict.fits, verdict.kind, verdict.reason) == (True, kind, "")
    assert verdict.fits


@pytest.mark.parametrize(
    ("target", "drafter", "said"),
    [
        ("step35.gguf", "llama-eagle3.gguf", "of the architecture step35 publishes no hidden states"),
        ("step35.gguf", "llama-dflash.gguf", "of the architecture step35 publishes no hidden states"),
        ("step35.gguf", "mtp-step35.gguf", "has its MTP head inside already"),
        ("qwen35.gguf", "mtp-qwen35.gguf", "has its MTP head inside already"),
        ("qwen35-nomtp.gguf", "mtp-step35.gguf", "made for a model of the architecture step35"),
        ("llama.gguf", "mtp-qwen35.gguf", "made for a model of the architecture qwen35, this one is llama"),
        ("llama.gguf", "mtp-gemma4.gguf", "made for a Gemma 4 model, this one is llama"),
        ("llama.gguf", "llama.gguf", "it is the model itself"),
        ("llama-eagle3.gguf", "llama-draft.gguf", "the file to draft for is an EAGLE-3 drafter"),
    ],
)
def test_a_wrong_pair_is_refused_with_its_reason(target: str, drafter: str, said: str) -> None:
    verdict = judge(facts(target), facts(drafter))
    assert not verdict.fits
    assert not verdict.fits
    assert said in verdict.reason


def changed(name: str, folder: Path, **numbers: int) -> ModelFacts:
    """Return the facts of a tiny model with some of its numbers changed."""
    data = (TINY_MODELS / name).read_bytes()
    for key, value in numbers.items():
        data = replace_u32(data, key.replace("__", "."), value)
    path = folder / name
    path.write_bytes(data)
    return read_facts(path)


def test_a_head_for_another_hidden_size_is_refused(tmp_path: Path) -> None:
    eagle = changed("llama-eagle3.gguf", tmp_path, eagle3__target_hidden_size=128)
    assert judge(facts("llama.gguf"), eagle).reason == (
        "it was trained for a target of hidden size 128, this one has 64"
    )
    dflash = changed("llama-dflash.gguf", tmp_path, dflash__embedding_length=128)
    assert "hidden size 128, this one has 64" in judge(facts("llama.gguf"), dflash).reason
    assistant = changed("mtp-gemma4.gguf", tmp_path, **{"gemma4-assistant__embedding_length_out": 96})
    assert "hidden size 96" in judge(facts("gemma4.gguf"), assistant).reason
    assistant = changed("mtp-gemma4.gguf", tmp_path, **{"gemma4-assistant__attention__key_length_swa": 64})
    assert "attention heads differ" in judge(facts("gemma4.gguf"), assistant).reason


def with_layers(name: str, *layers: int) -> ModelFacts:
    drafter = facts(name)
    return msgspec.structs.replace(
        drafter, drafter=msgspec.structs.replace(drafter.drafter, target_layers=layers)
    )


def test_layers_that_the_target_does_not_have_or_not_give_are_named() -> None:
    llama, qwen35 = facts("llama.gguf"), facts("qwen35.gguf")
    beyond = judge(llama, with_layers("llama-eagle3.gguf", 1, 2, 9))
    assert beyond.reason == "it reads layer 9 of its target, this one has 4"
    last = judge(llama, with_layers("llama-eagle3.gguf", 1, 2, 4))
    assert "the last layer, which a llama model does not publish" in last.reason
    assert judge(qwen35, with_layers("qwen35-eagle3.gguf", 1, 2, 4)).fits
    for target in (llama, qwen35):
        assert "the last layer" in judge(target, with_layers("llama-dflash.gguf", 1, 2, 4)).reason
    assert (
        "reads 3 layers of its target, this one 2"
        in judge(llama, with_layers("llama-eagle3.gguf", 1, 2)).reason
    )
    assert "does not say which layers" in judge(llama, with_layers("llama-dflash.gguf")).reason


def test_what_a_block_drafter_needs_and_lacks_is_named() -> None:
    llama, dspark = facts("llama.gguf"), facts("llama-dspark.gguf")
    no_mask = msgspec.structs.replace(
        dspark, vocabulary=msgspec.structs.replace(dspark.vocabulary, has_mask=False)
    )
    assert "no mask token" in judge(llama, no_mask).reason
    no_block = msgspec.structs.replace(dspark, drafter=msgspec.structs.replace(dspark.drafter, block_size=0))
    assert "how many tokens it drafts at once" in judge(llama, no_block).reason


def test_a_dflash_2_drafter_is_judged_like_the_first_one() -> None:
    drafter = msgspec.structs.replace(facts("llama-dflash.gguf"), kind=FileKind.DFLASH2)
    verdict = judge(facts("llama.gguf"), drafter)
    assert (verdict.fits, verdict.kind) == (True, DrafterKind.DFLASH)
    no_block = msgspec.structs.replace(
        drafter, drafter=msgspec.structs.replace(drafter.drafter, block_size=0)
    )
    assert "how many tokens it drafts at once" in judge(facts("llama.gguf"), no_block).reason
    assert "publishes no hidden states" in judge(facts("step35.gguf"), drafter).reason


def test_a_head_that_borrows_the_token_table_needs_one_of_its_own_width() -> None:
    eagle = facts("llama-eagle3.gguf")
    assert not eagle.drafter.has_own_tokens
    narrow = msgspec.structs.replace(eagle, n_embd=32)
    assert "token table, which is 64 wide, for one of 32" in judge(facts("llama.gguf"), narrow).reason


def test_a_sidecar_of_a_model_with_more_layers_is_refused(tmp_path: Path) -> None:
    sidecar = changed("mtp-qwen35.gguf", tmp_path)
    deeper = msgspec.structs.replace(sidecar, n_layers=8)
    assert "made for a model of 8 layers, this one has 4" in judge(facts("qwen35-nomtp.gguf"), deeper).reason


def test_heads_of_an_architecture_without_an_mtp_graph_are_refused() -> None:
    target = msgspec.structs.replace(facts("qwen35-nomtp.gguf"), architecture="glm5-next")
    sidecar = msgspec.structs.replace(facts("mtp-qwen35.gguf"), architecture="glm5-next")
    assert "cannot run the MTP heads of glm5-next" in judge(target, sidecar).reason


def test_a_head_inside_is_judged_too() -> None:
    assert judge_head_inside(facts("qwen35.gguf")).fits
    assert judge_head_inside(facts("step35.gguf")).kind is DrafterKind.MTP
    assert judge_head_inside(facts("llama.gguf")).reason == "this model has no MTP head inside"
    other = msgspec.structs.replace(facts("qwen35.gguf"), architecture="glm5-next")
    assert "cannot run the MTP heads" in judge_head_inside(other).reason


def test_heads_that_llama_cpp_would_end_the_process_over_are_refused(tmp_path: Path) -> None:
    two = changed("qwen35.gguf", tmp_path, qwen35__nextn_predict_layers=2)
    assert judge_head_inside(two).reason == "it has 2 MTP heads, and this llama.cpp runs one in qwen35 models"
    data = (TINY_MODELS / "mtp-qwen35.gguf").read_bytes()
    path = tmp_path / "mtp.gguf"
    path.write_bytes(data.replace(b"blk.4.nextn.enorm.weight", b"blk.4.nextn.enurm.weight"))
    assert judge(facts("qwen35-nomtp.gguf"), read_facts(path)).reason == (
        "its MTP head is not whole: blk.4.nextn.enorm.weight is missing"
    )


def test_a_mimo2_head_needs_its_attention_in_one_tensor(tmp_path: Path) -> None:
    metadata: dict[str, Entry] = {
        "general.architecture": "mimo2",
        "mimo2.block_count": 2,
        "mimo2.nextn_predict_layers": 1,
    }
    names = [f"blk.1.nextn.{part}.weight" for part in ("eh_proj", "enorm", "hnorm")]
    path = tmp_path / "mimo2.gguf"
    for extra, reason in (
        ([], "its MTP head is not whole: blk.1.attn_qkv.weight is missing"),
        (["blk.1.attn_qkv.weight"], ""),
    ):
        tensors = [tensor(name, [8]) for name in ("blk.0.attn_norm.weight", *names, *extra)]
        path.write_bytes(gguf(metadata, tensors, data_bytes=32))
        assert judge_head_inside(read_facts(path)).reason == reason


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"general.architecture": "clip"}, "it is an image or audio projector, which drafts nothing"),
        ({"general.type": "adapter", "general.architecture": "llama"}, "it is a LoRA adapter"),
        ({"general.architecture": "bert"}, "it is an embedding model"),
        ({"general.type": "imatrix"}, "it is an importance matrix"),
        ({"general.architecture": "qwen9"}, "does not know its architecture “qwen9”"),
    ],
)
def test_a_file_of_the_wrong_kind_is_called_by_its_name(
    metadata: dict[str, Entry], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "file.gguf"
    path.write_bytes(gguf(metadata, WEIGHTS, data_bytes=128))
    assert said in judge(facts("llama.gguf"), read_facts(path)).reason


def test_a_link_to_the_model_is_the_model(tmp_path: Path) -> None:
    path, link = tmp_path / "model.gguf", tmp_path / "other-name.gguf"
    path.write_bytes((TINY_MODELS / "llama.gguf").read_bytes())
    link.hardlink_to(path)
    assert judge(read_facts(path), read_facts(link)).reason == "it is the model itself"


def test_a_few_more_tokens_of_the_same_texts_fit_and_many_do_not(tmp_path: Path) -> None:
    target = model(tmp_path / "target.gguf", WORDS[:400])
    assert judge(target, model(tmp_path / "more.gguf", WORDS[:528])).fits
    assert judge(target, model(tmp_path / "less.gguf", WORDS[:272])).fits
    assert judge(target, model(tmp_path / "many.gguf", WORDS[:529])).reason == (
        "the vocabulary differs: 400 and 529 tokens"
    )


def test_where_two_vocabularies_part_is_said(tmp_path: Path) -> None:
    target = model(tmp_path / "target.gguf", WORDS[:400])
    other = [*WORDS[:300], "zzz", *WORDS[301:400]]
    assert judge(target, model(tmp_path / "other.gguf", other)).reason == (
        "the vocabulary differs: token 300 is “w300” in the target and “zzz” in the drafter"
    )
    assert judge(target, model(tmp_path / "longer.gguf", [*other, "end"])).reason == (
        "the vocabulary differs: 400 and 401 tokens, token 300 is “w300” in the target and “zzz” in the drafter"
    )
    # llama.cpp compares from token 5 on.
    assert judge(target, model(tmp_path / "first.gguf", ["?", *WORDS[1:400]])).fits
    sixth = [*WORDS[:5], "a" * 99, *WORDS[6:400]]
    assert f"“{'a' * 24}…”" in judge(target, model(tmp_path / "sixth.gguf", sixth)).reason


def test_a_list_of_tokens_too_long_to_be_kept_is_compared_from_the_file(tmp_path: Path) -> None:
    words = [f"token{i}" for i in range(9000)]
    target = model(tmp_path / "target.gguf", words)
    assert target.vocabulary.tokens_offset
    other = model(tmp_path / "other.gguf", [*words[:8000], "é", *words[8001:]])
    assert "token 8000 is “token8000” in the target and “é” in the drafter" in judge(target, other).reason
    Path(other.path).unlink()
    assert judge(target, other).reason == "the vocabulary differs: some tokens are others"


def test_different_kinds_of_vocabularies_and_other_ends_are_named(tmp_path: Path) -> None:
    target = model(tmp_path / "target.gguf", WORDS, add_bos_token=flag(True), bos_token_id=1)
    spm = model(tmp_path / "spm.gguf", WORDS, model="llama")
    assert judge(target, spm).reason == "the vocabularies are of different types: BPE and SPM"
    other_bos = model(tmp_path / "bos.gguf", WORDS, add_bos_token=flag(True), bos_token_id=2)
    assert judge(target, other_bos).reason == (
        "at the beginning of a text the target puts “w1”, the drafter “w2”"
    )
    no_bos = model(tmp_path / "nobos.gguf", WORDS, add_bos_token=flag(False), bos_token_id=1)
    assert judge(target, no_bos).reason == (
        "at the beginning of a text the target puts “w1”, the drafter nothing"
    )
    ends = model(
        tmp_path / "eos.gguf", WORDS, add_bos_token=flag(True), bos_token_id=1, add_eos_token=flag(True)
    )
    assert judge(ends, msgspec.structs.replace(target, path="x")).fits  # the target's file leaves it open
    # What a file leaves open is asked of llama.cpp when both are loaded.
    assert judge(target, model(tmp_path / "silent.gguf", WORDS)).fits


def test_a_drafter_that_is_no_smaller_fits_with_a_remark() -> None:
    target, drafter = facts("llama-draft.gguf"), facts("llama.gguf")
    verdict = judge(target, drafter)
    assert verdict.fits
    assert "would slow it down" in verdict.remark
    assert judge(drafter, target).remark == ""
    middling = msgspec.structs.replace(target, read_bytes=drafter.read_bytes * 2 // 3)
    assert "more than half as large" in judge(drafter, middling).remark


def test_a_renamed_drafter_is_judged_by_its_header(tmp_path: Path) -> None:
    path = tmp_path / "Llama-3.2-1B-Instruct-Q8_0.gguf"
    data = replace_strings((TINY_MODELS / "llama-eagle3.gguf").read_bytes(), {"general.name": "Llama-3.2-1B"})
    path.write_bytes(data)
    assert judge(facts("llama.gguf"), read_facts(path)).kind is DrafterKind.EAGLE3
