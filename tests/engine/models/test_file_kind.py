"""What a file is, from its header alone, and what is refused before llama.cpp sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import FileGone, UnknownArchitecture, WrongKindOfFile
from engine.models.bundle import DrafterKind
from engine.models.file_kind import FileKind, classify, drafter_kind
from engine.models.gguf_header import read_header
from engine.models.model_file import ModelRole, check_model_file
from tests.engine.models.gguf_writer import Entry, gguf, tensor

TINY_MODELS = Path(__file__).parents[2] / "models"
WEIGHTS = (tensor("blk.0.attn_norm.weight", [8]),)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("llama.gguf", FileKind.TARGET),
        ("llama-draft.gguf", FileKind.TARGET),
        ("gemma4.gguf", FileKind.TARGET),
        ("qwen35-nomtp.gguf", FileKind.TARGET),
        ("qwen35.gguf", FileKind.TARGET_WITH_MTP),
        ("step35.gguf", FileKind.TARGET_WITH_MTP),
        ("mtp-qwen35.gguf", FileKind.MTP_SIDECAR),
        ("mtp-step35.gguf", FileKind.MTP_SIDECAR),
        ("mtp-gemma4.gguf", FileKind.GEMMA4_ASSISTANT),
        ("llama-eagle3.gguf", FileKind.EAGLE3),
        ("llama-eagle3-d2t.gguf", FileKind.EAGLE3),
        ("llama-dflash.gguf", FileKind.DFLASH),
        ("llama-dspark.gguf", FileKind.DSPARK),
        ("llama-dspark-noanchor.gguf", FileKind.DSPARK),
    ],
)
def test_every_kind_of_drafter_and_target_is_known_by_its_header(name: str, kind: FileKind) -> None:
    assert classify(read_header(TINY_MODELS / name)) is kind


@pytest.mark.parametrize(
    ("metadata", "kind"),
    [
        ({"general.architecture": "clip"}, FileKind.PROJECTOR),
        ({"general.type": "mmproj", "general.architecture": "llama"}, FileKind.PROJECTOR),
        ({"general.type": "adapter", "general.architecture": "llama"}, FileKind.ADAPTER),
        ({"general.type": "imatrix"}, FileKind.IMATRIX),
        ({"general.architecture": "nomic-bert"}, FileKind.EMBEDDING),
        ({"general.architecture": "llama-embed"}, FileKind.EMBEDDING),
        ({"general.architecture": "llada"}, FileKind.OTHER),
        ({"general.architecture": "qwen3tts"}, FileKind.OTHER),
        ({"general.architecture": "dflash", "dflash.selector_top_k": 4}, FileKind.DFLASH2),
        ({"general.architecture": "dflash", "dflash.selector_top_k": 0}, FileKind.DFLASH),
        ({"general.architecture": "llama", "split.count": 3, "split.no": 1}, FileKind.SHARD),
        ({"imatrix.chunk_count": 3}, FileKind.IMATRIX),
    ],
)
def test_what_cannot_answer_is_refused_with_its_name_and_its_place(
    metadata: dict[str, Entry], kind: FileKind, tmp_path: Path
) -> None:
    path = tmp_path / "file.gguf"
    path.write_bytes(gguf(metadata, WEIGHTS, data_bytes=32))
    assert classify(read_header(path)) is kind
    with pytest.raises(WrongKindOfFile) as caught:
        check_model_file(path)
    assert kind.phrase in caught.value.sentence
    assert caught.value.remedy == kind.place


def test_a_vocabulary_without_weights_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "vocab.gguf"
    path.write_bytes(gguf({"general.architecture": "llama"}))
    with pytest.raises(WrongKindOfFile, match="a vocabulary without weights"):
        check_model_file(path)


def test_an_architecture_that_llama_cpp_does_not_know_is_named(tmp_path: Path) -> None:
    path = tmp_path / "new.gguf"
    path.write_bytes(gguf({"general.architecture": "qwen9"}, WEIGHTS, data_bytes=32))
    assert classify(read_header(path)) is FileKind.UNKNOWN
    with pytest.raises(UnknownArchitecture, match=r"“qwen9”, which this llama\.cpp does not know"):
        check_model_file(path)


def test_the_first_part_of_a_model_may_hold_metadata_alone(tmp_path: Path) -> None:
    path = tmp_path / "first.gguf"
    path.write_bytes(gguf({"general.architecture": "llama", "split.count": 3, "split.no": 0}))
    assert classify(read_header(path)) is FileKind.TARGET


def test_each_kind_of_head_drafts_in_its_own_way() -> None:
    assert drafter_kind(FileKind.TARGET) is DrafterKind.MODEL
    assert drafter_kind(FileKind.GEMMA4_ASSISTANT) is DrafterKind.MTP
    assert drafter_kind(FileKind.DFLASH2) is DrafterKind.DFLASH
    assert drafter_kind(FileKind.PROJECTOR) is DrafterKind.NONE
    assert all(
        (drafter_kind(kind) is DrafterKind.NONE) != kind.is_drafter_only
        for kind in FileKind
        if not kind.can_answer
    )


def test_a_drafter_as_target_and_a_head_as_draft_model_are_refused() -> None:
    path = TINY_MODELS / "llama-eagle3.gguf"
    with pytest.raises(WrongKindOfFile, match="is an EAGLE-3 drafter, not a model that can answer"):
        check_model_file(path)
    with pytest.raises(WrongKindOfFile, match="is an EAGLE-3 drafter, not a draft model"):
        check_model_file(path, ModelRole.DRAFT_MODEL)


def test_a_small_model_may_be_a_draft_model() -> None:
    file = check_model_file(TINY_MODELS / "llama-draft.gguf", ModelRole.DRAFT_MODEL)
    assert file.file_bytes == file.path.stat().st_size


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    parts = [tmp_path / f"big-{number:05d}-of-00003.gguf" for number in (1, 2, 3)]
    for number, path in enumerate(parts):
        metadata: dict[str, Entry] = {"general.architecture": "llama", "split.count": 3, "split.no": number}
        path.write_bytes(gguf(metadata, WEIGHTS, data_bytes=32))
    whole = check_model_file(parts[0])
    assert whole.file_bytes == sum(path.stat().st_size for path in parts)
    assert len(whole.header.tensors) == sum(len(read_header(path).tensors) for path in parts)
    parts[1].unlink()
    with pytest.raises(FileGone, match=r"Part 2 of 3 .* missing: “big-00002-of-00003\.gguf”"):
        check_model_file(parts[0])


def test_every_kind_has_words() -> None:
    for kind in FileKind:
        assert kind.phrase.startswith(("a ", "an "))
        assert kind.place.endswith(".")
