"""What the Hugging Face cache, LM Studio, Jan and Ollama keep is found where they keep it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from engine.shelf.hub_cache import files_in_hub_cache, hub_cache_folders
from engine.shelf.other_apps import (
    files_of_jan,
    files_of_lm_studio,
    files_of_ollama,
    jan_folders,
    lm_studio_folders,
    ollama_folders,
)
from engine.shelf.surroundings import Surroundings
from tests.engine.models.small_files import write_model

OLD, NEW = "a" * 40, "b" * 40


def around(home: Path, system: str = "Linux", **environ: str) -> Surroundings:
    return Surroundings(home, environ, system)


def in_cache(folder: Path, commit: str, name: str, *, linked: bool) -> Path:
    repository = folder / "models--owner--name"
    path = repository / "snapshots" / commit / name
    if not linked:
        return write_model(path)
    blob = write_model(repository / "blobs" / f"blob-of-{commit[0]}-{Path(name).name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.symlink_to(os.path.relpath(blob, path.parent))
    except OSError:
        pytest.skip("no links here")
    return path


# ------------------------------------------------------------------------------------------------ the cache


@pytest.mark.parametrize("linked", [True, False])
def test_the_cache_gives_each_file_of_a_repository_once(tmp_path: Path, linked: bool) -> None:
    first = in_cache(tmp_path, OLD, "model-Q4_K_M.gguf", linked=linked)
    second = in_cache(tmp_path, OLD, "Q8_0/model-Q8_0.gguf", linked=linked)
    found = list(files_in_hub_cache(tmp_path))
    assert {file.path for file in found} == {first, second}
    assert {file.group for file in found} == {"owner/name"}


@pytest.mark.parametrize(("main", "chosen"), [(OLD, OLD), (NEW, NEW), ("", NEW)])
def test_of_two_revisions_the_one_of_main_is_taken_else_the_latest(
    tmp_path: Path, main: str, chosen: str
) -> None:
    for age, commit in enumerate((NEW, OLD)):
        in_cache(tmp_path, commit, "model.gguf", linked=False)
        os.utime(tmp_path / "models--owner--name" / "snapshots" / commit, (1e9 - age, 1e9 - age))
    only_old = in_cache(tmp_path, OLD, "other.gguf", linked=False)
    os.utime(only_old.parent, (1e9 - 1, 1e9 - 1))
    if main:
        (tmp_path / "models--owner--name" / "refs").mkdir()
        (tmp_path / "models--owner--name" / "refs" / "main").write_text(f"{main}\n")
    found = {file.path.name: file.path.parent.name for file in files_in_hub_cache(tmp_path)}
    assert found == {"model.gguf": chosen, "other.gguf": OLD}


def test_a_link_to_a_blob_that_is_gone_is_left_out(tmp_path: Path) -> None:
    path = in_cache(tmp_path, OLD, "model.gguf", linked=True)
    path.resolve().unlink()
    assert list(files_in_hub_cache(tmp_path)) == []


def test_the_cache_is_where_its_variables_say(tmp_path: Path) -> None:
    def folders(**environ: str) -> list[Path]:
        return list(hub_cache_folders(around(tmp_path, **environ)))

    assert folders() == [tmp_path / ".cache/huggingface/hub"]
    assert folders(XDG_CACHE_HOME="/x") == [Path("/x/huggingface/hub")]
    assert folders(XDG_CACHE_HOME="/x", HF_HOME="~/hf") == [tmp_path / "hf/hub"]
    assert folders(HF_HOME="/hf", HF_HUB_CACHE="/hub") == [Path("/hub")]
    assert folders(HUGGINGFACE_HUB_CACHE="/old", LLAMA_CACHE="/llama") == [Path("/old"), Path("/llama")]
    assert folders(HF_HUB_CACHE="/hub", LLAMA_CACHE="/hub") == [Path("/hub")]


# ------------------------------------------------------------------------------------------------ LM Studio


def test_lm_studio_keeps_publisher_repository_file(tmp_path: Path) -> None:
    folder = tmp_path / ".lmstudio" / "models"
    target = write_model(folder / "owner" / "name" / "model-Q4_K_M.gguf")
    drafter = write_model(folder / "owner" / "name" / "MTP" / "mtp-model.gguf")
    assert folder in lm_studio_folders(around(tmp_path))
    groups = {file.path: file.group for file in files_of_lm_studio(folder)}
    assert groups == dict.fromkeys((target, drafter), str(folder / "owner" / "name"))


def test_lm_studio_may_have_been_moved(tmp_path: Path) -> None:
    (tmp_path / ".lmstudio-home-pointer").write_text(str(tmp_path / "elsewhere") + "\n")
    assert lm_studio_folders(around(tmp_path)) == (
        tmp_path / "elsewhere" / "models",
        tmp_path / ".lmstudio" / "models",
        tmp_path / ".cache" / "lm-studio" / "models",
    )


# ------------------------------------------------------------------------------------------------------ Jan


def test_jan_names_its_models_in_a_file_beside_them(tmp_path: Path) -> None:
    models = tmp_path / "llamacpp" / "models"
    own = write_model(models / "janhq" / "Jan-v3-4B" / "model.gguf")
    imported = write_model(tmp_path / "elsewhere" / "mine.gguf")
    bare = write_model(models / "bare-Q8_0" / "model.gguf")
    own.with_name("model.yml").write_text(
        "embedding: false\nmodel_path: llamacpp/models/janhq/Jan-v3-4B/model.gguf\nname: 'Jan v3'\nsize_bytes: 1\n"
    )
    yml = models / "mine" / "model.yml"
    yml.parent.mkdir()
    yml.write_text(f"name: mine\nmodel_path: {imported}\n")
    found = {file.path: file.name for file in files_of_jan(tmp_path)}
    assert found == {own: "Jan v3", imported: "mine", bare: "bare-Q8_0"}


def test_a_model_file_of_jans_that_says_nothing_or_nonsense_is_no_trouble(tmp_path: Path) -> None:
    for number, text in enumerate(
        ("", "model_path:\n", "model_path: \0\n", "model_path: gone.gguf\n", "- [")
    ):
        yml = tmp_path / "llamacpp" / "models" / f"m{number}" / "model.yml"
        yml.parent.mkdir(parents=True)
        yml.write_text(text)
    assert list(files_of_jan(tmp_path)) == []


def test_jan_keeps_its_data_where_its_system_and_its_settings_say(tmp_path: Path) -> None:
    def first(system: str, **environ: str) -> Path:
        return jan_folders(around(tmp_path, system, **environ))[0]

    assert first("Darwin") == tmp_path / "Library" / "Application Support" / "Jan" / "data"
    assert first("Windows") == tmp_path / "AppData" / "Roaming" / "Jan" / "data"
    assert first("Windows", APPDATA=str(tmp_path / "r")) == tmp_path / "r" / "Jan" / "data"
    settings = tmp_path / ".config" / "Jan" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"data_folder": str(tmp_path / "big disk")}))
    folders = jan_folders(around(tmp_path, "Linux"))
    assert tmp_path / "big disk" in folders
    assert tmp_path / ".local" / "share" / "Jan" / "data" in folders
    assert tmp_path / "jan" in folders


# --------------------------------------------------------------------------------------------------- Ollama

MODEL, DRAFT = "application/vnd.ollama.image.model", "application/vnd.ollama.image.draft"


def ollama_manifest(folder: Path, name: str, *layers: tuple[str, str]) -> None:
    path = folder / "manifests" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    named = [{"mediaType": kind, "digest": f"sha256:{digest}", "size": 1} for kind, digest in layers]
    path.write_text(json.dumps({"schemaVersion": 2, "config": {}, "layers": named}))


def ollama_blob(folder: Path, digest: str) -> Path:
    return write_model(folder / "blobs" / f"sha256-{digest}")


def test_ollama_keeps_weights_without_a_suffix_and_names_in_manifests(tmp_path: Path) -> None:
    one, two = "1" * 64, "2" * 64
    blobs = ollama_blob(tmp_path, one), ollama_blob(tmp_path, two)
    ollama_manifest(tmp_path, "registry.ollama.ai/library/qwen3/4b", (MODEL, one), (DRAFT, two))
    ollama_manifest(tmp_path, "registry.ollama.ai/somebody/model/latest", (MODEL, two))
    ollama_manifest(
        tmp_path, "hf.co/owner/name/Q4_K_M", ("application/vnd.ollama.image.params", two), (MODEL, one)
    )
    found = {file.name: (file.path, file.drafter) for file in files_of_ollama(tmp_path)}
    assert found == {
        "qwen3:4b": blobs,
        "somebody/model:latest": (blobs[1], None),
        "hf.co/owner/name:Q4_K_M": (blobs[0], None),
    }


def test_a_manifest_of_ollamas_that_cannot_be_used_is_named_with_the_reason(tmp_path: Path) -> None:
    ollama_manifest(tmp_path, "registry.ollama.ai/library/gone/latest", (MODEL, "3" * 64))
    ollama_manifest(tmp_path, "registry.ollama.ai/library/evil/latest", (MODEL, "../../../etc/passwd"))
    (tmp_path / "manifests" / "nonsense").write_bytes(b"\xff{[")
    ollama_manifest(tmp_path, "registry.ollama.ai/library/pictures/latest", ("application/other", "3" * 64))
    assert {file.path.parent.name: file.trouble for file in files_of_ollama(tmp_path)} == {
        "gone": "The weights of Ollama's “gone:latest” are missing.",
        "evil": "The weights of Ollama's “evil:latest” are missing.",
        "manifests": "Ollama's record of “nonsense” cannot be read.",
    }


def test_ollama_keeps_its_models_where_its_variable_says_and_in_the_home_of_its_service(
    tmp_path: Path,
) -> None:
    folders = ollama_folders(around(tmp_path, OLLAMA_MODELS="/big"))
    assert folders[:2] == (Path("/big"), tmp_path / ".ollama" / "models")
    assert Path("/usr/share/ollama/.ollama/models") in folders
    assert ollama_folders(around(tmp_path, "Darwin")) == (tmp_path / ".ollama" / "models",)


def test_programs_that_are_not_installed_have_nothing(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    for files_of in (files_in_hub_cache, files_of_lm_studio, files_of_jan, files_of_ollama):
        assert list(files_of(nowhere)) == []
