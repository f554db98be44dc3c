"""The `slipstream` command as a subprocess, the way that a person or a script runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
MODELS = ROOT / "tests" / "models"
LLAMA = str(MODELS / "llama.gguf")
LLAMA_DRAFT = str(MODELS / "llama-draft.gguf")
COMMAND = [sys.executable, "-m", "app"]
# One thread: the tests share the machine.
SMALL = ["--target", LLAMA, "--threads", "1", "--context", "256"]
LONG = ["--target", LLAMA, "--threads", "1", "--context", "4096", "--max-tokens", "4000", "--prompt", "def a"]


@dataclass(frozen=True, slots=True)
class Outcome:
    code: int
    out: str
    err: str


def slipstream(*arguments: str, data: bytes = b"", environment: Mapping[str, str] | None = None) -> Outcome:
    """Run `slipstream` with `arguments`, `data` on its standard input and `environment` on top of ours."""
    result = subprocess.run(
        [*COMMAND, *arguments],
        input=data,
        capture_output=True,
        cwd=ROOT,
        env=os.environ | dict(environment or {}),
        timeout=120,
        check=False,
    )
    return Outcome(result.returncode, result.stdout.decode(), result.stderr.decode())


def start_slipstream(arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start `slipstream` in a process group of its own, as a shell with job control would."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        start_new_session=True,
    )


def assert_plain_failure(outcome: Outcome, code: int) -> None:
    """Check that `outcome` is a failure with a sentence for people and nothing else."""
    assert outcome.code == code, outcome.err
    assert outcome.out == ""
    assert outcome.err.startswith("slipstream: ")
    assert "Traceback" not in outcome.err
    assert outcome.err.split("\n")[0].endswith((".", "?"))
