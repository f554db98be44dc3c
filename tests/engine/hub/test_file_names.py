"""What names propose, on names found in the wild."""

from __future__ import annotations

import pytest

from engine.hub.file_names import NamedAs, is_safe_path, may_hold_mtp, named_as


@pytest.mark.parametrize(
    ("path", "use"),
    [
        ("gemma-4-E4B-it-Q4_K_M.gguf", NamedAs.TARGET),
        ("Q4_K_M/model-Q4_K_M-00001-of-00003.GGUF", NamedAs.TARGET),
        ("mmproj-F16.gguf", NamedAs.PROJECTOR),
        ("gemma-mmproj-model.gguf", NamedAs.PROJECTOR),
        ("imatrix_unsloth.gguf", NamedAs.IMATRIX),
        ("gemma-4-imatrix.gguf", NamedAs.IMATRIX),
        ("imatrix_unsloth.gguf_file", NamedAs.IMATRIX),
        ("README.md", NamedAs.OTHER),
        ("model.safetensors", NamedAs.OTHER),
    ],
)
def test_the_rest_is_known_by_its_name(path: str, use: NamedAs) -> None:
    assert named_as(path, "a/b") is use


def test_a_head_inside_is_supposed_where_the_name_says_mtp() -> None:
    assert may_hold_mtp("Qwen3.5-9B-Q4_K_M.gguf", "unsloth/Qwen3.5-9B-MTP-GGUF")
    assert may_hold_mtp("Hy3-Q4_K_M-mtp.gguf", "AngelSlim/Hy3-GGUF")
    assert not may_hold_mtp("Qwen3.5-9B-Q4_K_M.gguf", "unsloth/Qwen3.5-9B-GGUF")


@pytest.mark.parametrize(
    "path", ["../x.gguf", "a/../x.gguf", "/x.gguf", "a//x.gguf", "a\\..\\x.gguf", "", "a/./x", "x\0"]
)
def test_a_path_that_may_leave_its_folder_is_not_safe(path: str) -> None:
    assert not is_safe_path(path)
