"""The walls of the house: app → engine.service → worker → engine.speculation → engine.llama; nothing points back."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
QT = ("PySide6", "shiboken6", "qasync")
LLAMA = ("llama_cpp",)

# Folder → prefixes of modules that nothing in it may import.
FORBIDDEN: dict[str, tuple[str, ...]] = {
    "engine": (*QT, "app"),
    "engine/speculation": ("engine.llama", "engine.worker", "engine.service", "engine.measure", *LLAMA),
    "engine/measure": ("engine.llama", "engine.worker", "engine.service", *LLAMA),
    "engine/bench": ("engine.llama", *LLAMA),
    "engine/chat": ("engine.llama", "engine.worker", "engine.service", *LLAMA),
    "engine/models": ("engine.llama", "engine.worker", "engine.service", *LLAMA),
    "engine/bundles": (
        "engine.llama",
        "engine.worker",
        "engine.service",
        "engine.hub",
        "engine.download",
        *LLAMA,
    ),
    "engine/shelf": (
        *("engine.llama", "engine.worker", "engine.service", "engine.hub", "engine.download"),
        *LLAMA,
    ),
    "engine/budget": ("engine.llama", "engine.worker", "engine.service", *LLAMA),
    "engine/download": ("engine.llama", "engine.worker", "engine.service", "engine.budget", *LLAMA),
    "engine/hub": ("engine.llama", "engine.worker", "engine.service", "engine.budget", *LLAMA),
    "engine/recommend": ("engine.llama", "engine.worker", "engine.service", *LLAMA),
    "engine/llama": ("engine.worker", "engine.service", "engine.models_service"),
    "engine/worker": ("engine.service", "engine.models_service", "engine.hub", "engine.download"),
    "app": ("engine.llama", *LLAMA),
    "resources": ("engine", "app", *QT, *LLAMA),
}


def _sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_under(module: str, prefixes: tuple[str, ...]) -> bool:
    return any(module == prefix or module.startswith(prefix + ".") for prefix in prefixes)


@pytest.mark.parametrize("folder", sorted(FORBIDDEN))
def test_no_module_imports_what_lies_behind_its_wall(folder: str) -> None:
    assert _sources(folder), f"{folder} has no sources: the wall guards nothing"
    crossings = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in _sources(folder)
        for module in _imports(path)
        if _is_under(module, FORBIDDEN[folder])
    ]
    assert crossings == []


def test_only_engine_llama_imports_llama_cpp() -> None:
    crossings = [
        str(path.relative_to(ROOT))
        for folder in ("engine", "app", "resources")
        for path in _sources(folder)
        if ROOT / "engine" / "llama" not in path.parents and any(_is_under(m, LLAMA) for m in _imports(path))
    ]
    assert crossings == []


def test_the_app_meets_llama_only_through_the_worker() -> None:
    """Every engine module except the worker's own side loads without pulling in llama_cpp."""
    modules = ["engine.service", "engine.models_service", "engine.cli.command", "app.entry"]
    found = f"[m for m in sys.modules if m.split('.')[0] in {LLAMA + QT!r}]"
    code = f"import sys\nfor m in {modules!r}: __import__(m)\nprint({found})"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True
    )
    assert result.stdout.strip() == "[]"


def test_the_shelf_loads_nothing_of_the_network() -> None:
    modules = [f"engine.shelf.{path.stem}" for path in _sources("engine/shelf") if path.stem != "__init__"]
    code = (
        f"import sys\nfor m in {modules!r}: __import__(m)\nprint([m for m in sys.modules if m == 'httpx2'])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True
    )
    assert result.stdout.strip() == "[]"


def test_the_whole_engine_loads_where_qt_is_absent() -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in _sources("engine")
        if path.name != "__main__.py"
    ]
    block = "; ".join(f"sys.modules[{name!r}] = None" for name in QT)
    code = f"import sys; {block}\nfor m in {modules!r}: __import__(m)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
