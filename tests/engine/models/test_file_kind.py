"""What a file is, from its header alone, and what is refused before llama.cpp sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import FileGone, WrongKindOfFile
from engine.models.file_kind import FileKind, classify
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
        ({"general.architecture": "llama", "split.count": 3, "split.no": 1}, FileKind.SHARD),
        ({"general.architecture": "llama", "split.count": 3, "split.no": 0}, FileKind.TARGET),
    ],
)
def test_what_cannot_answer_is_refused_with_its_name_and_its_place(
    metadata: dict[str, Entry], kind: FileKind, tmp_path: Path
) -> None:
    path = tmp_path / "file.gguf"
    path.write_bytes(gguf(metadata, WEIGHTS, data_bytes=32))
    assert classify(read_header(path)) is kind
    if kind.can_answer:
        return
    with pytest.raises(WrongKindOfFile) as caught:
        check_model_file(path)
    assert kind.phrase in caught.value.sentence
    assert caught.value.remedy == kind.place


def test_a_vocabulary_without_weights_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "vocab.gguf"
    path.write_bytes(gguf({"general.architecture": "llama"}))
    with pytest.raises(WrongKindOfFile, match="a vocabulary without weights"):
        check_model_file(path)


def test_a_drafter_as_target_and_a_head_as_draft_model_are_refused() -> None:
    path = TINY_MODELS / "llama-eagle3.gguf"
    with pytest.raises(WrongKindOfFile, match="is an EAGLE-3 drafter, not a model that can answer"):
        check_model_file(path)
    with pytest.raises(WrongKindOfFile, match="is an EAGLE-3 drafter, which cannot be used yet"):
        check_model_file(path, ModelRole.DRAFT_MODEL)


def test_a_small_model_may_be_a_draft_model() -> None:
    file = check_model_file(TINY_MODELS / "llama-draft.gguf", ModelRole.DRAFT_MODEL)
    assert file.file_bytes == file.path.stat().st_size


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    parts = [tmp_path / f"big-{number:05d}-of-00003.gguf" for number in (1, 2, 3)]
    for number, path in enumerate(parts):
        metadata: dict[str, Entry] = {"general.architecture": "llama", "split.count": 3, "split.no": number}
        path.write_bytes(gguf(metadata, WEIGHTS, data_bytes=32))
    assert check_model_file(parts[0]).file_bytes == sum(path.stat().st_size for path in parts)
    parts[1].unlink()
    with pytest.raises(FileGone, match=r"Part 2 of 3 .* missing: “big-00002-of-00003\.gguf”"):
        check_model_file(parts[0])


def test_every_kind_has_words() -> None:
    for kind in FileKind:
        assert kind.phrase.startswith(("a ", "an "))
        assert kind.place.endswith(".")
