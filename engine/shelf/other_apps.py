"""What LM Studio, Jan and Ollama keep on this computer. Read in place, never written to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from engine.shelf.found import FoundFile
from engine.shelf.installed_model import Place
from engine.shelf.surroundings import Surroundings
from engine.shelf.walk import files_below, gguf_files

_MAX_TEXT_BYTES: Final = 1 << 20

# ------------------------------------------------------------------------------------------------ LM Studio


def lm_studio_folders(around: Surroundings) -> tuple[Path, ...]:
    """Return the folders of models; `~/.lmstudio-home-pointer` names another home (lmstudio-js, findLMStudioHome)."""
    homes = [around.home / ".lmstudio", around.home / ".cache" / "lm-studio"]
    pointer = _read_text(around.home / ".lmstudio-home-pointer").strip()
    if pointer:
        homes.insert(0, around.expand(pointer))
    return tuple(dict.fromkeys(home / "models" for home in homes))


def files_of_lm_studio(folder: Path) -> Iterator[FoundFile]:
    """Yield the files of `folder`, laid out as publisher/repository/file: a repository is a group."""
    for path in gguf_files(folder):
        parts = path.relative_to(folder).parts
        yield FoundFile(path, Place.LM_STUDIO, group=str(folder.joinpath(*parts[: min(2, len(parts) - 1)])))


# ------------------------------------------------------------------------------------------------------ Jan


class _JanSettings(msgspec.Struct, frozen=True):
    data_folder: str = ""


def jan_folders(around: Surroundings) -> tuple[Path, ...]:
    """Return Jan's data folders: where its settings say, the usual ones, and `~/jan` of old versions."""
    found: list[Path] = []
    for folder in around.program_data():
        try:
            settings = msgspec.json.decode(_read_text(folder / "Jan" / "settings.json"), type=_JanSettings)
        except msgspec.MsgspecError:
            settings = _JanSettings()
        if settings.data_folder:
            found.append(around.expand(settings.data_folder))
        found.append(folder / "Jan" / "data")
    return tuple(dict.fromkeys([*found, around.home / "jan"]))


_JAN_MODELS: Final = ("llamacpp/models", "models")
_YAML_LINE: Final = re.compile(r"^(name|model_path):[ \t]*(.+?)[ \t]*$", re.MULTILINE)


def files_of_jan(folder: Path) -> Iterator[FoundFile]:
    """Yield what each model.yml below `folder` names; a file without one is found by itself.

    `model_path` is relative to the data folder, absolute for what was imported in place.
    """
    files = [path for below in _JAN_MODELS for path in gguf_files(folder / below)]
    named: set[Path] = set()
    for yml in _model_ymls(folder):
        entries = {key: value.strip("\"'") for key, value in _YAML_LINE.findall(_read_text(yml))}
        path = folder / Path(entries.get("model_path", ""))
        if path.is_file():
            named.add(path)
            yield FoundFile(path, Place.JAN, entries.get("name", "") or yml.parent.name, str(path.parent))
    for path in files:
        if path not in named:
            name = path.parent.name if path.stem == "model" else ""
            yield FoundFile(path, Place.JAN, name, str(path.parent))


def _model_ymls(folder: Path) -> list[Path]:
    return [
        path
        for below in _JAN_MODELS
        for path in files_below(folder / below, lambda path: path.name == "model.yml")
    ]


# --------------------------------------------------------------------------------------------------- Ollama


class _Layer(msgspec.Struct, frozen=True):
    media_type: str = msgspec.field(name="mediaType", default="")
    digest: str = ""


class _Manifest(msgspec.Struct, frozen=True):
    layers: tuple[_Layer, ...] = ()


_MODEL_LAYER: Final = "application/vnd.ollama.image.model"
_DRAFT_LAYER: Final = "application/vnd.ollama.image.draft"
_DIGEST: Final = re.compile(r"^sha256[:-]([0-9a-f]{64})$")


def ollama_folders(around: Surroundings) -> tuple[Path, ...]:
    """Return the folders of models: the person's, and that of the service which Ollama's installer makes on Linux."""
    named = around.environ.get("OLLAMA_MODELS")
    folders = [around.expand(named)] if named else []
    folders.append(around.home / ".ollama" / "models")
    if around.system == "Linux":
        folders += [Path("/usr/share/ollama/.ollama/models"), Path("/var/lib/ollama/.ollama/models")]
    return tuple(dict.fromkeys(folders))


def files_of_ollama(folder: Path) -> Iterator[FoundFile]:
    """Yield each model that a manifest below `folder` names, with its draft layer where it has one.

    Weights lie in `blobs/sha256-<hex>` without a suffix. Manifests of models that are no GGUF have no such layer; one
    that is damaged, or whose weights are gone, is yielded with its trouble.
    """
    manifests = folder / "manifests"
    for path in files_below(manifests, lambda _: True):
        name = _ollama_name(path, manifests)
        try:
            manifest = msgspec.json.decode(_read_text(path), type=_Manifest)
        except msgspec.MsgspecError:
            yield _broken(path, f"Ollama's record of “{name}” cannot be read.")
            continue
        blob = _blob(folder, manifest, _MODEL_LAYER)
        if blob is not None:
            draft = _blob(folder, manifest, _DRAFT_LAYER)
            yield FoundFile(blob, Place.OLLAMA, name, str(path), draft)
        elif any(layer.media_type == _MODEL_LAYER for layer in manifest.layers):
            yield _broken(path, f"The weights of Ollama's “{name}” are missing.")


def _broken(path: Path, trouble: str) -> FoundFile:
    return FoundFile(path, Place.OLLAMA, trouble=trouble)


def _blob(folder: Path, manifest: _Manifest, media_type: str) -> Path | None:
    for layer in manifest.layers:
        digest = _DIGEST.match(layer.digest)
        if layer.media_type == media_type and digest is not None:
            path = folder / "blobs" / f"sha256-{digest[1]}"
            return path if path.is_file() else None
    return None


def _ollama_name(path: Path, manifests: Path) -> str:
    """Return what Ollama calls it: "qwen3:4b", "somebody/model:tag", "hf.co/owner/name:tag"."""
    *parts, tag = path.relative_to(manifests).parts
    for usual in ("registry.ollama.ai", "library"):
        if parts and parts[0] == usual:
            del parts[0]
    return ":".join(filter(None, ("/".join(parts), tag)))


def _read_text(path: Path) -> str:
    """Return the text of a small file, "" where it cannot be read."""
    try:
        if path.stat().st_size > _MAX_TEXT_BYTES:
            return ""
        return path.read_text(encoding="utf-8", errors="replace").lstrip("\ufeff")
    except (OSError, ValueError):
        return ""
