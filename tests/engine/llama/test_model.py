"""Loading models: what they say about themselves, and a sentence for everything that cannot be loaded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.errors import (
    Cancelled,
    FileGone,
    NotAModelFile,
    PreconditionFailed,
    SlipstreamError,
    UnknownArchitecture,
    WrongKindOfFile,
)
from engine.llama.library import LlamaLibrary
from engine.llama.model import Model
from engine.models.model_file import ModelRole
from tests.engine.models.gguf_writer import gguf, tensor


def test_a_model_says_what_it_is(llama: LlamaLibrary, starter_model: Path) -> None:
    with Model.open(llama, starter_model) as model:
        loaded = model.describe()
        assert loaded.architecture == "llama"
        assert loaded.n_vocab == 49152
        assert loaded.n_layers == 30
        assert 0 <= loaded.n_layers_offloaded <= 30
        assert loaded.n_ctx_train == 8192
        assert loaded.n_params == 134_515_008
        assert loaded.file_bytes == starter_model.stat().st_size
        assert loaded.has_chat_template
        assert "im_start" in model.chat_template


def test_progress_grows_to_the_whole(llama: LlamaLibrary, tiny_models: Path) -> None:
    fractions: list[float] = []
    with Model.open(llama, tiny_models / "llama.gguf", on_progress=fractions.append):
        assert fractions == sorted(fractions)
        assert fractions[-1] == pytest.approx(1.0)


def test_a_load_can_be_stopped(llama: LlamaLibrary, tiny_models: Path) -> None:
    with pytest.raises(Cancelled):
        Model.open(llama, tiny_models / "llama.gguf", is_cancelled=lambda: True)


def test_an_error_of_whoever_watches_the_load_comes_through(llama: LlamaLibrary, tiny_models: Path) -> None:
    def fail(fraction: float) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Model.open(llama, tiny_models / "llama.gguf", on_progress=fail)


def test_a_path_in_any_script_works(llama: LlamaLibrary, tiny_models: Path, tmp_path: Path) -> None:
    path = tmp_path / "Modèle 模型 🚀.gguf"
    shutil.copy(tiny_models / "llama.gguf", path)
    with Model.open(llama, path) as model:
        assert model.describe().path == str(path)


def test_a_file_deleted_after_it_was_chosen_is_told(llama: LlamaLibrary, tmp_path: Path) -> None:
    with pytest.raises(FileGone, match="cannot be opened"):
        Model.open(llama, tmp_path / "gone.gguf")


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("text.gguf", NotAModelFile, "is not a GGUF file"),
        ("half.gguf", NotAModelFile, "is cut short"),
        (
            "future.gguf",
            UnknownArchitecture,
            "has the architecture “zephyr9”, which this llama.cpp does not know",
        ),
        ("keys.gguf", NotAModelFile, "does not hold what a model of its kind needs"),
        ("tensors.gguf", NotAModelFile, "does not hold what a model of its kind needs"),
        ("projector.gguf", WrongKindOfFile, "is an image or audio projector"),
    ],
)
def test_what_cannot_be_loaded_is_told_in_words(
    llama: LlamaLibrary,
    tiny_models: Path,
    tmp_path: Path,
    name: str,
    error: type[SlipstreamError],
    words: str,
) -> None:
    whole = (tiny_models / "llama.gguf").read_bytes()
    weights = [tensor("blk.0.attn_norm.weight", [8])]
    files = {
        "text.gguf": b"hello " * 100,
        "half.gguf": whole[:500_000],
        "future.gguf": gguf({"general.architecture": "zephyr9"}, weights, data_bytes=32),
        "keys.gguf": gguf({"general.architecture": "llama"}, weights, data_bytes=32),
        "tensors.gguf": whole.replace(b"blk.2.ffn_down.weight", b"blk.2.ffn_dawn.weight"),
        "projector.gguf": gguf({"general.architecture": "clip"}, weights, data_bytes=32),
    }
    path = tmp_path / name
    path.write_bytes(files[name])
    with pytest.raises(error, match=words) as caught:
        Model.open(llama, path)
    assert caught.value.remedy
    assert "\n" not in caught.value.sentence


def test_a_failed_load_keeps_what_llama_cpp_said(llama: LlamaLibrary, tmp_path: Path) -> None:
    path = tmp_path / "bare.gguf"
    weights = [tensor("blk.0.attn_norm.weight", [8])]
    path.write_bytes(gguf({"general.architecture": "llama"}, weights, data_bytes=32))
    with pytest.raises(NotAModelFile) as caught:
        Model.open(llama, path)
    assert "key not found in model: llama.context_length" in caught.value.detail


def test_a_drafter_as_target_is_refused(llama: LlamaLibrary, tiny_models: Path) -> None:
    with pytest.raises(WrongKindOfFile, match="is an EAGLE-3 drafter, not a model that can answer"):
        Model.open(llama, tiny_models / "llama-eagle3.gguf")
    with pytest.raises(WrongKindOfFile, match="is an MTP drafter"):
        Model.open(llama, tiny_models / "mtp-qwen35.gguf", role=ModelRole.DRAFT_MODEL)


def test_a_closed_model_is_refused_not_crashed_on(llama: LlamaLibrary, tiny_models: Path) -> None:
    model = Model.open(llama, tiny_models / "llama.gguf")
    model.close()
    with pytest.raises(PreconditionFailed):
        _ = model.pointer
