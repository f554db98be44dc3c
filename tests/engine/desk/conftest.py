from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.desk.desk import ModelsDesk
from tests.engine.desk.visitor import Visitor
from tests.hub_server.fixtures import hub as hub
from tests.hub_server.server import HubServer

TINY_MODELS = Path(__file__).parents[2] / "models"
OpenDesk = Callable[[], Visitor]


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep everything of Slipstream and of other programs in `tmp_path`."""
    for name in ("DATA", "CACHE", "MODELS"):
        monkeypatch.setenv(f"SLIPSTREAM_{name}_DIR", str(tmp_path / name.lower()))
    for name in ("HOME", "HF_HOME", "XDG_CACHE_HOME", "OLLAMA_MODELS"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in ("HF_TOKEN", "HF_HUB_CACHE", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    os.makedirs(tmp_path / "home")
    return tmp_path


@pytest.fixture
def open_desk(folders: Path, hub: HubServer) -> Iterator[OpenDesk]:
    """Open a desk before the test's Hub; a second call is the next start of Slipstream."""
    visitors: list[Visitor] = []

    def open_one() -> Visitor:
        for visitor in visitors:
            visitor.leave()
        visitors.append(Visitor(ModelsDesk(endpoint=hub.endpoint)))
        return visitors[-1]

    yield open_one
    for visitor in visitors:
        visitor.leave()


@pytest.fixture
def tiny(hub: HubServer) -> str:
    """A repository with a small target, a drafter for it and one for another."""
    files = {
        "Tiny-F32.gguf": "llama.gguf",
        "eagle3-Tiny-F32.gguf": "llama-eagle3.gguf",
        "MTP/mtp-Tiny-F32.gguf": "mtp-qwen35.gguf",
    }
    stored = {path: (TINY_MODELS / name).read_bytes() for path, name in files.items()}
    hub.add("maker/Tiny-GGUF", stored | {"README.md": b"# Tiny"})
    return "maker/Tiny-GGUF"
