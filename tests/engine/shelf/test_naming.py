from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from engine.errors import NoSuchModel
from engine.models.bundle import Bundle
from engine.shelf.installed_model import InstalledModel, Place
from engine.shelf.naming import find_installed


def model(model_id: str, name: str = "", target: str = "") -> InstalledModel:
    return InstalledModel(model_id, Bundle(name or model_id, target or f"/{model_id}.gguf"), Place.FOLDER, 1)


MODELS = (
    model("starter", "Starter: SmolLM2 135M"),
    model("gemma-4-e4b", "Gemma 4 E4B"),
    model("gemma-4-12b", "Gemma 4 12B"),
    model("Qwen3-4B-Q4_K_M"),
    model("Qwen3-4B-Q4_K_M@lm-studio", "Qwen3-4B-Q4_K_M"),
)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("starter", "starter"),
        ("gemma 4 12b", "gemma-4-12b"),
        ("GEMMA-4-E", "gemma-4-e4b"),
        ("gemma 4 e", "gemma-4-e4b"),
        ("qwen3-4b-q4_k_m", "Qwen3-4B-Q4_K_M"),
        ("Qwen3-4B-Q4_K_M@", "Qwen3-4B-Q4_K_M@lm-studio"),
    ],
)
def test_a_model_is_found_by_id_name_or_the_beginning_of_one(typed: str, found: str) -> None:
    assert find_installed(typed, MODELS).id == found


def test_a_download_is_found_by_its_repository_where_that_is_unique() -> None:
    ids = ("t--Gated-GGUF--Q4_0", "t--Gated-GGUF-2--Q4_0", "t--Two--Q4_0", "t--Two--Q8_0")
    models = [msgspec.structs.replace(model(one), remote_id=one) for one in ids]
    assert find_installed("t/gated-GGUF", models).id == "t--Gated-GGUF--Q4_0"
    with pytest.raises(NoSuchModel, match="may mean “t--Two--Q4_0” or “t--Two--Q8_0”"):
        find_installed("t/Two", models)


def test_a_model_is_found_by_the_path_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.touch()
    here = model("mine", target=str(path))
    assert find_installed(str(tmp_path / "." / "x.gguf"), (*MODELS, here)) == here


@pytest.mark.parametrize(
    ("typed", "sentence", "remedy"),
    [
        ("gemma", "“gemma” may mean “gemma-4-e4b” or “gemma-4-12b”.", "Type more"),
        ("gema-4-12b", "There is no model “gema-4-12b”", "“gemma-4-12b”"),
        ("12b", "There is no model “12b”", "“gemma-4-12b”"),
        ("llama", "There is no model “llama”", "slipstream models list"),
        ("", "There is no model “”", "slipstream models list"),
        ("\0", "There is no model", "slipstream models list"),
    ],
)
def test_a_name_that_means_nothing_or_too_much_is_told_with_what_is_near(
    typed: str, sentence: str, remedy: str
) -> None:
    with pytest.raises(NoSuchModel) as raised:
        find_installed(typed, MODELS)
    assert raised.value.sentence.startswith(sentence)
    assert remedy in raised.value.remedy
