"""Which drafters are offered for a target, in which order, and with which words."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from engine.models.bundle import NGRAM_DRAFTER, DrafterChoice, DrafterKind
from engine.models.facts import read_facts
from engine.models.remote import RemoteFile
from engine.models.suggestions import Candidate, is_beside, suggest_drafters

TINY_MODELS = Path(__file__).parents[2] / "models"


def candidate(file: str, folder: str = "models", **changes: object) -> Candidate:
    """Return a tiny model as a candidate, some of its facts changed."""
    facts = read_facts(TINY_MODELS / file)
    return Candidate(file, folder, msgspec.structs.replace(facts, **changes))


def order(target: Candidate, *candidates: Candidate) -> list[str]:
    return [suggestion.name for suggestion in suggest_drafters(target, candidates)]


def test_there_is_always_one_to_offer_and_it_needs_no_file() -> None:
    (only,) = suggest_drafters(candidate("llama.gguf"), [])
    assert only.choice == NGRAM_DRAFTER
    assert only.verdict.fits


def test_what_can_run_comes_first_then_n_gram_and_what_does_not_fit_comes_last_with_its_reason() -> None:
    target = candidate("llama.gguf")
    others = [
        candidate(name)
        for name in ("mtp-gemma4.gguf", "llama-eagle3.gguf", "step35.gguf", "llama-draft.gguf")
    ]
    suggestions = suggest_drafters(target, others)
    assert [s.name for s in suggestions] == [
        "llama-eagle3.gguf",
        "llama-draft.gguf",
        "n-gram",
        "step35.gguf",
        "mtp-gemma4.gguf",
    ]
    assert suggestions[1].choice == DrafterChoice(DrafterKind.MODEL, str(TINY_MODELS / "llama-draft.gguf"))
    assert [bool(s.verdict.remark) for s in suggestions] == [False, False, False, True, False]
    assert [bool(s.verdict.reason) for s in suggestions] == [False, False, False, False, True]


def test_a_head_inside_is_offered_and_needs_no_path() -> None:
    suggestions = suggest_drafters(candidate("qwen35.gguf"), [candidate("mtp-qwen35.gguf")])
    assert [s.name for s in suggestions] == ["MTP head inside the model", "n-gram", "mtp-qwen35.gguf"]
    assert suggestions[0].choice == DrafterChoice(DrafterKind.MTP)
    assert suggestions[0].verdict.fits
    assert "inside already" in suggestions[2].verdict.reason


def test_the_nearest_comes_first_beside_it_then_of_its_name_then_of_its_family() -> None:
    target = candidate("llama.gguf", "owner/Llama-GGUF/Q4_K_M", name="Llama 3.1 8B", quantisation="Q4_K_M")
    beside = candidate("llama-draft.gguf", "owner/Llama-GGUF", file_bytes=9)
    named = candidate(
        "llama-draft.gguf", "other/heads", base_models=("https://huggingface.co/meta/Llama-3.1-8B",)
    )
    stranger = candidate("llama-draft.gguf", "other/models", file_bytes=1)
    suggestions = suggest_drafters(target, [stranger, named, beside])
    assert [s.candidate.folder for s in suggestions if s.candidate] == [
        "owner/Llama-GGUF",
        "other/heads",
        "other/models",
    ]


def test_of_two_beside_it_the_nearest_quantisation_comes_first_then_the_smaller() -> None:
    target = candidate("llama.gguf", quantisation="Q8_0")
    q4 = msgspec.structs.replace(candidate("llama-draft.gguf", quantisation="Q4_K_M"), name="q4")
    q8 = msgspec.structs.replace(candidate("llama-draft.gguf", quantisation="Q8_0"), name="q8")
    large = msgspec.structs.replace(
        candidate("llama-draft.gguf", quantisation="Q8_0", file_bytes=1 << 30), name="large"
    )
    assert order(target, q4, large, q8) == ["q8", "large", "q4", "n-gram"]


@pytest.mark.parametrize(
    ("folder", "other", "beside"),
    [
        ("a/b", "a/b", True),
        ("a/b/Q4_K_M", "a/b", True),
        ("a/b", "a/b/MTP", True),
        ("a/b/Q4_K_M", "a/b/mtp", True),
        ("a/b", "a/b/Q8_0", False),
        ("a/b", "a/bc", False),
        ("a/bc", "a/b", False),
        ("a/b", "c/b", False),
    ],
)
def test_the_repository_its_folders_above_and_its_mtp_folder_count_as_beside(
    folder: str, other: str, beside: bool
) -> None:
    assert is_beside(folder, other) is beside


def test_a_file_on_the_hub_whose_header_was_not_read_is_offered_as_not_checked() -> None:
    file = RemoteFile("owner/repo", "MTP/model-Q8_0.gguf", size_bytes=100)
    remote = Candidate("model-Q8_0.gguf", "owner/repo/MTP", files=(file,))
    suggestions = suggest_drafters(candidate("llama.gguf", "owner/repo"), [remote])
    assert [s.name for s in suggestions] == ["n-gram", "model-Q8_0.gguf"]
    assert suggestions[1].verdict.kind is DrafterKind.MTP
    assert "not checked yet" in suggestions[1].verdict.remark
    assert remote.size_bytes == 100
    assert remote.quantisation == "Q8_0"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("mtp-gemma-4-E4B-it-Q8_0.gguf", DrafterKind.MTP),
        ("gemma-4-E4B-it-assistant-Q8_0.gguf", DrafterKind.MTP),
        ("Qwen3.6-35B-A3B-MTP-Q8_0.gguf", DrafterKind.MODEL),
        ("Hy3-Q4_K_M-mtp.gguf", DrafterKind.MODEL),
        ("eagle3-gpt-oss-20b-BF16.gguf", DrafterKind.EAGLE3),
        ("Qwen3-8B_eagle3.gguf", DrafterKind.EAGLE3),
        ("Qwen3.6-27B-DFlash-Q8_0.gguf", DrafterKind.DFLASH),
        ("model-DFlash2.Q8_0.gguf", DrafterKind.DFLASH),
        ("dflash.gguf", DrafterKind.DFLASH),
        ("LFM2.5-2.6B-DSpark-Q8_0.gguf", DrafterKind.DSPARK),
        ("Qwen3-0.6B-Q8_0.gguf", DrafterKind.MODEL),
    ],
)
def test_names_propose_what_a_drafter_is(name: str, kind: DrafterKind) -> None:
    assert Candidate(name, "a/b").kind is kind
    assert Candidate("a draft", "a/b", files=(RemoteFile("a/b", name),)).kind is kind


def test_a_target_whose_header_was_not_read_cannot_be_judged() -> None:
    with pytest.raises(ValueError, match="without facts"):
        suggest_drafters(Candidate("m.gguf", "a/b"), [])
