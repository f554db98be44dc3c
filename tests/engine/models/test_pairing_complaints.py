"""What people complain about in other applications when they pair a drafter, tried here (docs/complaints.md)."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from engine.errors import WrongKindOfFile
from engine.models.bundle import NGRAM_DRAFTER, DrafterKind
from engine.models.facts import ModelFacts, read_facts
from engine.models.model_file import ModelRole, check_model_file
from engine.models.pairing import judge
from engine.models.suggestions import Candidate, suggest_drafters
from tests.engine.models.gguf_writer import Entry, gguf, tensor
from tests.engine.models.test_pairing import flag

TINY_MODELS = Path(__file__).parents[2] / "models"
WEIGHTS = (tensor("blk.0.attn_norm.weight", [8]),)
# As many tokens as QwQ 32B and Qwen 2.5 0.5B have; the last ones are padding.
QWQ_TOKENS, QWEN_TOKENS = 152_064, 151_936


def facts(name: str) -> ModelFacts:
    return read_facts(TINY_MODELS / name)


def candidate(name: str) -> Candidate:
    return Candidate(name, "models", facts(name))


def written(path: Path, tokens: list[str], name: str = "", model: str = "gpt2") -> ModelFacts:
    metadata: dict[str, Entry] = {
        "general.architecture": "llama",
        "general.name": name,
        "tokenizer.ggml.model": model,
        "tokenizer.ggml.tokens": tokens,
    }
    path.write_bytes(gguf(metadata, WEIGHTS, data_bytes=32))
    return read_facts(path)


def test_after_any_number_of_downloads_every_file_is_offered_or_has_its_reason() -> None:
    """lmstudio-bug-tracker#1914: after 30 downloads the list of drafters is still empty, without a word."""
    target = candidate("qwen35.gguf")
    others = [
        candidate(path.name) for path in sorted(TINY_MODELS.glob("*.gguf")) if path.name != "qwen35.gguf"
    ]
    suggestions = suggest_drafters(target, others)
    assert len(suggestions) == len(others) + 2  # n-gram and the head inside
    assert suggestions[0].verdict.fits
    assert all(s.verdict.fits or s.verdict.reason for s in suggestions)
    fitting = [s.verdict.fits for s in suggestions]
    assert fitting == sorted(fitting, reverse=True)


def test_padding_at_the_end_of_a_vocabulary_does_not_keep_a_drafter_away(tmp_path: Path) -> None:
    """lmstudio-bug-tracker#502: QwQ 32B is offered no Qwen 2.5, 152,064 tokens against 151,936."""
    tokens = [str(number) for number in range(QWQ_TOKENS)]
    qwq = written(tmp_path / "qwq.gguf", tokens)
    assert judge(qwq, written(tmp_path / "qwen.gguf", tokens[:QWEN_TOKENS])).fits
    other = [*tokens[:151_643], "<|endoftext|>", *tokens[151_644:QWEN_TOKENS]]
    assert judge(qwq, written(tmp_path / "other.gguf", other)).reason == (
        "the vocabulary differs: 152064 and 151936 tokens, "
        "token 151643 is “151643” in the target and “<|endoftext|>” in the drafter"
    )


def test_who_converted_a_model_and_what_it_is_called_does_not_matter(tmp_path: Path) -> None:
    """lmstudio-bug-tracker#481: one publisher's Gemma 2 is offered as a drafter, another's is not."""
    tokens = [f"w{number}" for number in range(500)]
    target = written(tmp_path / "gemma-2-27b-it.gguf", tokens, "Gemma 2 27B")
    for file, name in (
        ("gemma-2-2b-it-Q4_K_M.gguf", "Gemma 2 2b It"),
        ("x.gguf", ""),
        ("g2.gguf", "models/tmp"),
    ):
        assert judge(target, written(tmp_path / file, tokens, name)).fits


def test_a_likely_name_with_another_vocabulary_is_refused_and_a_hybrid_target_takes_any_that_fits(
    tmp_path: Path,
) -> None:
    """lmstudio-bug-tracker#1266: qwen3 is offered as a drafter for qwen3next, which it does not fit."""
    tokens = [f"w{number}" for number in range(500)]
    target = msgspec.structs.replace(
        written(tmp_path / "qwen3-next.gguf", tokens, "Qwen3 Next 80B"), architecture="qwen3next"
    )
    other = written(tmp_path / "qwen3-0.6b.gguf", [*tokens[:499], "<think>"], "Qwen3 0.6B")
    verdict = judge(target, other)
    assert "token 499 is “w499” in the target and “<think>” in the drafter" in verdict.reason
    assert judge(facts("qwen35-nomtp.gguf"), facts("llama-draft.gguf")).fits


def test_a_gemma_4_assistant_is_offered_for_its_model() -> None:
    """lmstudio-bug-tracker#2044, #2150, #2244: the Gemma 4 drafter is on the disk and never offered."""
    suggestions = suggest_drafters(candidate("gemma4.gguf"), [candidate("mtp-gemma4.gguf")])
    offered = next(s for s in suggestions if s.name == "mtp-gemma4.gguf")
    assert offered.verdict.fits
    assert offered.choice.kind is DrafterKind.MTP


@pytest.mark.parametrize("name", ["mtp-gemma4.gguf", "mtp-qwen35.gguf", "mtp-step35.gguf"])
def test_an_mtp_head_is_never_taken_for_a_draft_model(name: str) -> None:
    """lmstudio-bug-tracker#2229, lms#610, #2153: it is, and fails with “requires ctx_other”."""
    assert judge(facts("gemma4.gguf"), facts(name)).kind is DrafterKind.MTP
    with pytest.raises(WrongKindOfFile, match="drafter, not a draft model"):
        check_model_file(TINY_MODELS / name, ModelRole.DRAFT_MODEL)


def test_two_names_for_one_kind_of_vocabulary_are_one_kind(tmp_path: Path) -> None:
    """koboldcpp#2325: pairs that worked are refused because their “vocab type” differs."""
    tokens = [f"w{number}" for number in range(500)]
    target = written(tmp_path / "target.gguf", tokens, model="gemma4")
    assert judge(target, written(tmp_path / "bpe.gguf", tokens, model="gpt2")).fits
    # Between two kinds that really differ llama.cpp cannot translate either.
    assert (
        "different types: BPE and SPM"
        in judge(target, written(tmp_path / "spm.gguf", tokens, model="llama")).reason
    )


@pytest.mark.parametrize(
    "name", ["mtp-gemma4.gguf", "llama-eagle3.gguf", "llama-dflash.gguf", "mtp-qwen35.gguf"]
)
def test_a_drafter_chosen_as_the_chat_model_is_a_sentence_that_says_where_it_belongs(name: str) -> None:
    """nativ#346: people choose the drafter as the model, and the server crashes."""
    with pytest.raises(WrongKindOfFile, match="not a model that can answer") as caught:
        check_model_file(TINY_MODELS / name)
    assert "belongs beside the model that it was trained for" in caught.value.remedy
    assert "the file to draft for is" in judge(facts(name), facts("llama-draft.gguf")).reason


def test_the_choice_is_free_and_says_what_speaks_against_one() -> None:
    """unsloth#4753: a drafter comes by itself, and nobody says whether another would be better."""
    target = candidate("llama.gguf")
    middling = candidate("llama-draft.gguf")
    assert middling.facts is not None
    assert target.facts is not None
    large = Candidate(
        "large.gguf", "models", msgspec.structs.replace(middling.facts, read_bytes=target.facts.read_bytes)
    )
    suggestions = suggest_drafters(target, [large, middling, candidate("llama-eagle3.gguf")])
    assert [s.name for s in suggestions] == ["llama-eagle3.gguf", "llama-draft.gguf", "n-gram", "large.gguf"]
    assert "would slow it down" in suggestions[-1].verdict.remark


@pytest.mark.parametrize("name", ["llama.gguf", "qwen35.gguf", "step35.gguf", "gemma4.gguf"])
def test_n_gram_lookup_needs_no_second_model_and_goes_with_every_target(name: str) -> None:
    """lmstudio-bug-tracker#1531: there is no way to speculate without a second download."""
    runnable = [s.choice for s in suggest_drafters(candidate(name), []) if s.verdict.fits]
    assert NGRAM_DRAFTER in runnable
    assert all(not choice.path for choice in runnable)


def test_what_a_file_leaves_open_does_not_keep_a_drafter_away(tmp_path: Path) -> None:
    """Small print of the same complaints: one converter writes `add_bos_token`, the other leaves it out."""
    tokens = [f"w{number}" for number in range(500)]
    silent = written(tmp_path / "silent.gguf", tokens)
    metadata: dict[str, Entry] = {
        "general.architecture": "llama",
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.add_bos_token": flag(True),
    }
    path = tmp_path / "said.gguf"
    path.write_bytes(gguf(metadata, WEIGHTS, data_bytes=32))
    assert judge(silent, read_facts(path)).fits
