"""The library as a whole: version, log, devices."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.llama.devices import default_threads, host_memory, list_devices
from engine.llama.library import LlamaLibrary, find_symbol
from engine.llama.log import MAX_LINES, LlamaLog


def test_it_says_its_version_and_what_it_was_built_for(llama: LlamaLibrary) -> None:
    assert llama.version[0].isdigit()
    assert llama.system_info
    assert os.environ["GGML_NO_BACKTRACE"] == "1"


def test_a_symbol_that_this_build_lacks_is_none(llama: LlamaLibrary) -> None:
    assert find_symbol("llama_that_does_not_exist", None) is None


def test_the_cpu_is_among_the_devices_with_memory_that_can_be_used(llama: LlamaLibrary) -> None:
    (cpu,) = (device for device in list_devices() if device.kind == "cpu")
    assert cpu.name == "CPU"
    assert 0 < cpu.memory_free_bytes <= cpu.memory_total_bytes


def test_at_least_one_thread_computes() -> None:
    assert 1 <= default_threads() <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("limit", "used"),
    [("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")],
)
def test_a_containers_limit_counts(tmp_path: Path, limit: str, used: str) -> None:
    (tmp_path / limit).parent.mkdir(exist_ok=True)
    (tmp_path / limit).write_text("100000000\n")
    (tmp_path / used).write_text("60000000\n")
    assert host_memory(tmp_path) == (40_000_000, 100_000_000)


def test_pages_of_files_in_a_container_count_as_free(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("100000000\n")
    (tmp_path / "memory.current").write_text("90000000\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 30000000\nactive_file 20000000\nsock 0\n")
    assert host_memory(tmp_path) == (60_000_000, 100_000_000)


@pytest.mark.parametrize("limit", ["max", "9223372036854771712", "nonsense"])
def test_no_limit_is_no_limit(tmp_path: Path, limit: str) -> None:
    free, total = host_memory(tmp_path)
    (tmp_path / "memory.max").write_text(limit)
    assert host_memory(tmp_path)[1] == total
    assert free > 0


def test_log_lines_come_whole_with_their_level_and_continuations() -> None:
    trouble: list[tuple[str, str]] = []
    log = LlamaLog(lambda level, text: trouble.append((level, text)))
    for level, text in (
        (2, b"half"),
        (5, b" a line\n"),
        (3, b"a warning\nand one more\n"),
        (5, b"....\n"),
        (4, b"x"),
    ):
        log._receive(level, text, None)
    assert [(line.level, line.text) for line in log.since(0)] == [
        ("info", "half a line"),
        ("warning", "a warning"),
        ("warning", "and one more"),
    ]
    assert trouble == [("warning", "a warning"), ("warning", "and one more")]


def test_the_log_is_bounded() -> None:
    log = LlamaLog()
    for number in range(MAX_LINES + 10):
        log._receive(2, b"line %d\n" % number, None)
    log._receive(2, b"y" * 1_000_000 + b"\n", None)
    kept = log.since(0)
    assert len(kept) == MAX_LINES
    assert len(kept[-1].text) <= 2000


def test_a_record_holds_what_came_after_it_began() -> None:
    log = LlamaLog()
    log._receive(4, b"before\n", None)
    with log.recording() as record:
        log._receive(2, b"offloaded 3/5 layers to GPU\n", None)
        assert record.trouble == "offloaded 3/5 layers to GPU"
        log._receive(4, b"failed\n", None)
        assert record.trouble == "failed"
        assert record.find("layers") == "offloaded 3/5 layers to GPU"
        assert record.find("before") == ""
