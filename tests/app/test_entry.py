from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.entry import has_display, x_server_answers

ROOT = Path(__file__).parent.parent.parent


def test_a_display_that_nobody_serves_is_no_display() -> None:
    assert not has_display("linux", {"DISPLAY": ":64123"})
    assert not x_server_answers(":64123.0")


def test_a_display_elsewhere_is_believed() -> None:
    assert has_display("linux", {"DISPLAY": "desk.example:0"})


def test_without_a_display_a_sentence_names_the_commands() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "QT_QPA_PLATFORM"}
    environment |= {"DISPLAY": ":64123", "WAYLAND_DISPLAY": ""}
    result = subprocess.run(
        [sys.executable, "-m", "app.entry"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert "slipstream compare" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="closes POSIX file descriptors")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-"])
def test_closed_standard_streams_are_no_error(closed: str) -> None:
    command = f'"{sys.executable}" -m app.entry --version {closed}'
    result = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
