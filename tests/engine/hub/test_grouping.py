"""A repository's files as a person chooses them."""

from __future__ import annotations

from engine.hub.grouping import HEAD_INSIDE, group_files
from engine.models.bundle import DrafterKind
from engine.models.remote import RemoteFile


def _files(*paths: str, repo: str = "a/model-GGUF") -> list[RemoteFile]:
    return [RemoteFile(repo, path, size_bytes=100 + number) for number, path in enumerate(paths)]


def test_quantisations_are_labelled_and_go_from_small_to_large() -> None:
    grouped = group_files(_files("m-Q8_0.gguf", "m-UD-Q4_K_XL.gguf", "BF16/m-BF16.gguf", "README.md"))
    assert [q.label for q in grouped.quantisations] == ["Q8_0", "UD-Q4_K_XL", "BF16"]
    assert grouped.other_files == ()


def test_parts_of_a_model_are_one_choice_in_their_order() -> None:
    parts = ["Q4_K_M/m-Q4_K_M-00002-of-00002.gguf", "Q4_K_M/m-Q4_K_M-00001-of-00002.gguf"]
    (choice,) = group_files(_files(*parts)).quantisations
    assert choice.label == "Q4_K_M"
    assert choice.size_bytes == 201
    assert [file.path for file in choice.files] == parts[::-1]


def test_a_model_with_a_part_missing_is_no_choice() -> None:
    grouped = group_files(_files("m-Q4_0-00001-of-00003.gguf", "m-Q4_0-00003-of-00003.gguf", "m-Q8_0.gguf"))
    assert [q.label for q in grouped.quantisations] == ["Q8_0"]
    assert len(grouped.other_files) == 2


def test_parts_in_two_folders_are_two_models() -> None:
    names = ["m-Q4_0-00001-of-00002.gguf", "m-Q4_0-00002-of-00002.gguf"]
    grouped = group_files(_files(*(f"{folder}/{name}" for folder in ("old", "new") for name in names)))
    assert sorted(q.label for q in grouped.quantisations) == [
        "new-m-Q4_0-00001-of-00002",
        "old-m-Q4_0-00001-of-00002",
    ]


def test_two_files_of_one_quantisation_are_told_apart_by_their_names() -> None:
    grouped = group_files(_files("glimmer-17GB-Q4_K_M.gguf", "glimmer-dynamic-Q4_K_M.gguf", "glimmer.gguf"))
    assert [q.label for q in grouped.quantisations] == [
        "glimmer-17GB-Q4_K_M",
        "glimmer-dynamic-Q4_K_M",
        "glimmer",
    ]


def test_drafters_are_found_in_the_root_and_in_a_folder_in_any_case() -> None:
    grouped = group_files(_files("m-Q4_0.gguf", "Mtp/mtp-m-Q8_0.gguf", "mtp-m.gguf", "dflash-m-Q8_0.gguf"))
    assert [(option.kind, option.name) for option in grouped.drafters] == [
        (DrafterKind.MTP, "mtp-m"),
        (DrafterKind.MTP, "mtp-m-Q8_0"),
        (DrafterKind.DFLASH, "dflash-m-Q8_0"),
        (DrafterKind.NGRAM, grouped.drafters[-1].name),
    ]
    assert [q.label for q in grouped.quantisations] == ["Q4_0"]


def test_a_head_inside_is_an_option_without_a_file() -> None:
    grouped = group_files(_files("Qwen3.5-9B-Q4_K_M.gguf", repo="unsloth/Qwen3.5-9B-MTP-GGUF"))
    head, ngram = grouped.drafters
    assert (head.kind, head.name, head.files) == (DrafterKind.MTP, HEAD_INSIDE, ())
    assert ngram.kind is DrafterKind.NGRAM


def test_there_is_always_the_drafter_that_needs_no_file() -> None:
    assert [option.kind for option in group_files(()).drafters] == [DrafterKind.NGRAM]


def test_names_that_leave_the_folder_are_dropped() -> None:
    grouped = group_files(_files("../../etc/m-Q4_0.gguf", "/m-Q4_0.gguf", "a\\m-Q8_0.gguf"))
    assert (grouped.quantisations, grouped.other_files) == ((), ())


def test_projectors_and_matrices_stand_apart() -> None:
    grouped = group_files(_files("m-Q4_0.gguf", "mmproj-F16.gguf", "imatrix.gguf_file", "config.json"))
    assert [file.path for file in grouped.other_files] == ["mmproj-F16.gguf", "imatrix.gguf_file"]


def test_a_draft_model_beside_its_target_is_a_drafter_and_no_version_of_it() -> None:
    grouped = group_files(_files("m-F16.gguf", "draft/Llama-Draft-F32.gguf", "qwen-0.5b-draft-Q8_0.gguf"))
    assert [q.label for q in grouped.quantisations] == ["F16"]
    assert [(option.kind, option.name) for option in grouped.drafters[:-1]] == [
        (DrafterKind.MODEL, "qwen-0.5b-draft-Q8_0"),
        (DrafterKind.MODEL, "Llama-Draft-F32"),
    ]


def test_a_repository_of_draft_models_alone_has_versions() -> None:
    grouped = group_files(_files("Qwen3-DRAFT-0.75B-Q4_0.gguf", "Qwen3-DRAFT-0.75B-Q8_0.gguf"))
    assert [q.label for q in grouped.quantisations] == ["Q4_0", "Q8_0"]
    assert [option.kind for option in grouped.drafters] == [DrafterKind.NGRAM]


def test_another_model_than_the_repositorys_bears_its_name() -> None:
    names = ("qwen2.5-0.5b-instruct-q4_0.gguf", "qwen2.5-1.5b-instruct-q8_0.gguf")
    grouped = group_files(_files(*names, repo="Qwen/Qwen2.5-1.5B-Instruct-GGUF"))
    assert [q.label for q in grouped.quantisations] == ["qwen2.5-0.5b-instruct-q4_0", "Q8_0"]
    more = group_files(_files(*names, "qwen2.5-0.5b-instruct-q5_0.gguf", repo="a/b"))
    assert [q.label for q in more.quantisations] == ["Q4_0", "qwen2.5-1.5b-instruct-q8_0", "Q5_0"]
