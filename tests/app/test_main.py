"""The real window in a process of its own: it answers with a real model, and ends cleanly when told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from app.main import open_window
from engine.models.bundle import NGRAM_DRAFTER, Bundle
from engine.service import Service
from tests.app.scripted_bench import BenchScript
from tests.app.scripted_models import ScriptedModels
from tests.hub_server.server import HubServer

ROOT = Path(__file__).parents[2]
TINY = ROOT / "tests" / "models" / "llama.gguf"


@pytest.fixture
def service() -> Iterator[Service]:
    one = Service()
    yield one
    one.stop(5.0)


def test_llama_cpp_is_not_loaded_by_the_windows_process() -> None:
    code = (
        "import app.main, app.window, sys; print('llama_cpp' in sys.modules, 'engine.llama' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout.split() == ["False", "False"]


def test_signed_addresses_stay_out_of_the_log(tmp_path: Path) -> None:
    """In a process of its own: the log's levels are the process's."""
    code = """
import logging, pathlib, sys
import platformdirs
from app.main import _log_to_file
from engine.hub.remote_header import fetch_header
from engine.models.remote import RemoteFile
_log_to_file()
fetch_header(RemoteFile("some/model", "m.gguf"), pathlib.Path(sys.argv[1]), endpoint=sys.argv[2])
logging.getLogger("app").info("the log is written")
print(platformdirs.user_log_path("Slipstream", appauthor=False) / "slipstream.log")
"""
    with HubServer().running() as hub:
        hub.add("some/model", {"m.gguf": TINY.read_bytes()})
        result = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "headers"), hub.endpoint],
            cwd=ROOT,
            env={**os.environ, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert any(served.is_storage for served in hub.log)
    log = Path(result.stdout.strip()).read_text(encoding="utf-8")
    assert "the log is written" in log
    assert "Signature=" not in log


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to catch")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_closes_the_window_and_leaves_no_process_behind(
    config_dir: Path, tmp_path: Path, number: signal.Signals
) -> None:
    environment = {
        **os.environ,
        "QT_QPA_PLATFORM": "offscreen",
        "SLIPSTREAM_CONFIG_DIR": str(config_dir),
        "SLIPSTREAM_MODELS_DIR": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "app"], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True
    )
    children = wait_for_worker(process.pid)
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Traceback" not in errors
    psutil.wait_procs(children, timeout=5)
    assert [child for child in children if child.is_running()] == []


def wait_for_worker(pid: int) -> list[psutil.Process]:
    """Return the window's child processes as soon as it has any: the engine starts when the window stands."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        children = psutil.Process(pid).children(recursive=True)
        if children:
            return children
        time.sleep(0.05)
    raise AssertionError("no worker was started")


def test_a_real_model_answers_in_both_panes_and_the_window_outlives_its_worker(
    qtbot: QtBot, qapp: object, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.main._show_what_goes_wrong", lambda _window: None)
    bundle = Bundle("Tiny", str(TINY), NGRAM_DRAFTER)
    tools = BenchScript().tools()
    window = open_window(qapp, service, lambda _recent: (bundle,), ScriptedModels(), tools)  # type: ignore[arg-type]
    page = window.compare
    qtbot.waitUntil(lambda: page.picker.target.chosen == "Tiny")
    page.options.max_tokens.setValue(400)
    page.start()
    qtbot.waitUntil(lambda: page.plain.view.n_tokens > 5, timeout=60_000)
    (worker,) = (
        c for c in psutil.Process().children(recursive=True) if "spawn_main" in " ".join(c.cmdline())
    )
    worker.kill()
    qtbot.waitUntil(lambda: page.run.phase == "idle", timeout=30_000)
    assert page.notice.isVisible()
    assert page.plain.view.n_tokens > 5
    page.options.max_tokens.setValue(48)
    page.notice.buttons[0].click()
    qtbot.waitUntil(lambda: page.run.phase == "idle", timeout=60_000)
    assert page.notice.isHidden(), page.notice.sentence
    assert page.plain.view.toPlainText() == page.speculative.view.toPlainText() != ""
    window.close()
    window.deleteLater()
