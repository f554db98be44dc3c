"""The linter and the type checker are tests like any other, so that one command shows everything."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    "command", [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]], ids=" ".join
)
def test_the_code_passes(command: list[str]) -> None:
    result = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, timeout=280, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def _sources() -> list[Path]:
    return [
        path
        for folder in ("app", "engine", "resources", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
    ]


def test_files_stay_small() -> None:
    """A room with one purpose."""
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in _sources()}
    assert {str(path): length for path, length in lengths.items() if length > 320} == {}


def test_functions_stay_small() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in _sources()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno + 1 > 45
    ]
    assert long == []
