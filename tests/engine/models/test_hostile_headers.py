"""Hundreds of damaged and hostile files: each is read or refused, quickly, in little memory, without a crash."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.engine.models.mutants import TINY_MODELS, mutants

ROOT = Path(__file__).parents[3]
MAX_TOOK_S = 1.0
MAX_BUDGET_S = 5.0
"""A budget is asked for once, and on a busy machine."""
MAX_PEAK_BYTES = 200_000_000


def test_each_is_read_or_refused_in_under_a_second_and_under_200_mb(tmp_path: Path) -> None:
    """In a process of its own, so that a crash or a gigabyte would show. Time is the process's own."""
    path = tmp_path / "hostile.gguf"
    outcomes: dict[str, int] = {}
    command = [sys.executable, "-m", "tests.engine.models.read_mutants", str(TINY_MODELS / "llama.gguf")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, encoding="utf-8"
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        for name, data in mutants():
            path.write_bytes(data)
            reader.stdin.write(f"{path}\n")
            reader.stdin.flush()
            answer = reader.stdout.readline()
            assert answer, f"the process ended at: {name}"
            result = json.loads(answer)
            assert result["took_s"] < MAX_TOOK_S, name
            assert result["budget_s"] < MAX_BUDGET_S, name
            assert result["peak_bytes"] < MAX_PEAK_BYTES, name
            assert result["outcome"] in ("read", "read without a budget", "refused"), name
            outcomes[result["outcome"]] = outcomes.get(result["outcome"], 0) + 1
        reader.stdin.close()
    assert reader.returncode == 0
    assert sum(outcomes.values()) >= 300
    assert outcomes["refused"] > 100
    assert outcomes["read"] > 10
    assert outcomes["read without a budget"] > 10
