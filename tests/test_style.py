"""The linter and the type checker are tests like any other, so that one command shows everything."""

from __future__ import annotations

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


def test_most_files_stay_small() -> None:
    """A room with one purpose: no source over 450 lines, at most one in ten over 300."""
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines())
        for folder in ("app", "engine", "resources", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
    }
    assert [str(path) for path, length in lengths.items() if length > 450] == []
    assert sum(length > 300 for length in lengths.values()) <= len(lengths) / 10
