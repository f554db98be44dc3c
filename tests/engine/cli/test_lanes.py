"""`slipstream compare` and `generate` from the outside, on a small trained model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from engine.cli.arguments import parse_arguments
from engine.cli.client import EngineClient, Interrupted
from engine.cli.loading import load
from engine.models.bundle import Bundle
from engine.service import Service
from engine.worker.messages import LoadSettings
from tests.engine.cli.slipstream import (
    COMMAND,
    LLAMA,
    LLAMA_DRAFT,
    LONG,
    ROOT,
    SMALL,
    assert_plain_failure,
    slipstream,
    start_slipstream,
)

LANE_KEYS = [
    "name", "text", "tokens", "ttft_s", "prefill_s", "decode_s", "tokens_per_s", "tpot_s", "end_to_end_s",
    "finish_reason", "rounds", "drafted", "accepted", "acceptance_rate", "mean_accepted_length",
    "accepted_by_position", "draft_s", "verify_s", "draft_lengths", "sources", "skipped", "why",
]  # fmt: skip


def test_compare_json_is_one_object_with_both_lanes() -> None:
    outcome = slipstream(
        "compare", *SMALL, "--drafter", LLAMA_DRAFT, "--prompt", "def read(path):", "--raw",
        "--draft", "3", "--max-tokens", "24", "--json",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    assert list(report) == ["target", "drafter", "prompt_tokens", "speedup", "first_difference", "lanes"]
    assert (report["target"], report["drafter"]) == (LLAMA, LLAMA_DRAFT)
    assert [lane["name"] for lane in report["lanes"]] == ["baseline", "speculative"]
    plain, speculative = report["lanes"]
    assert list(plain) == LANE_KEYS
    assert plain["tokens"] == speculative["tokens"]
    assert report["first_difference"] is None
    assert plain["drafted"] == 0
    assert plain["acceptance_rate"] is None
    assert speculative["drafted"] > 0
    assert sum(speculative["accepted_by_position"]) == speculative["accepted"]
    assert sum(speculative["draft_lengths"]) == speculative["drafted"]
    assert "draft-model" in speculative["sources"]
    assert (speculative["skipped"], speculative["why"]) == (0, None)
    assert plain["finish_reason"] in ("stop", "length")


def test_compare_shows_both_answers_and_the_verdict() -> None:
    outcome = slipstream("compare", *SMALL, "--prompt", "Hello", "--max-tokens", "12")
    assert outcome.code == 0, outcome.err
    for expected in (
        "── speculative, ngram",
        "── baseline",
        "tokens per second",
        "acceptance rate",
        "tokens/s",
    ):
        assert expected in outcome.out
    assert "\x1b" not in outcome.out


def test_generate_gives_text_alone_on_standard_output() -> None:
    options = (
        "generate",
        *SMALL,
        "--raw",
        "--prompt",
        "def read(path):",
        "--max-tokens",
        "12",
        "--seed",
        "1",
    )
    shown, reported = slipstream(*options), slipstream(*options, "--json")
    lanes = json.loads(reported.out)["lanes"]
    assert [lane["name"] for lane in lanes] == ["speculative"]
    assert shown.out == lanes[0]["text"] + "\n"
    assert "tokens per second" in shown.err


def test_generate_without_drafter_is_the_baseline() -> None:
    outcome = slipstream(
        "generate", *SMALL, "--drafter", "none", "--prompt", "Hello", "--max-tokens", "4", "--json"
    )
    report = json.loads(outcome.out)
    assert [lane["name"] for lane in report["lanes"]] == ["baseline"]
    assert report["drafter"] == "none"
    assert report["speedup"] is None


def test_the_prompt_may_come_from_a_file_or_from_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "prompt é.txt"
    path.write_text("Grüße, 世界", encoding="utf-8")
    options = ("generate", *SMALL, "--max-tokens", "4", "--json")
    from_file = json.loads(slipstream(*options, "--prompt-file", str(path)).out)
    from_stdin = json.loads(slipstream(*options, "--prompt-file", "-", data=path.read_bytes()).out)
    assert from_file["prompt_tokens"] == from_stdin["prompt_tokens"]
    assert from_file["lanes"][0]["tokens"] == from_stdin["lanes"][0]["tokens"]


def test_a_stop_text_ends_the_answer() -> None:
    options = ("generate", *SMALL, "--raw", "--prompt", "def read(path):", "--max-tokens", "24", "--json")
    whole = json.loads(slipstream(*options).out)["lanes"][0]
    stop = whole["text"][4:7]
    lane = json.loads(slipstream(*options, "--stop", "never there", "--stop", stop).out)["lanes"][0]
    assert lane["finish_reason"] == "stop"
    assert lane["text"] == whole["text"][: whole["text"].index(stop)]


def test_the_same_seed_gives_the_same_answer() -> None:
    options = (
        *SMALL,
        "--raw",
        "--prompt",
        "The ",
        "--temperature",
        "1.5",
        "--max-tokens",
        "16",
        "--seed",
        "7",
    )
    first, second = (slipstream("generate", *options, "--json") for _ in range(2))
    assert json.loads(first.out)["lanes"][0]["tokens"] == json.loads(second.out)["lanes"][0]["tokens"]


def test_an_answer_may_be_held_to_a_grammar_or_a_schema(tmp_path: Path) -> None:
    grammar, schema = tmp_path / "g.gbnf", tmp_path / "s.json"
    grammar.write_text('root ::= "left" | "right"')
    schema.write_text('{"enum": ["left", "right"]}')
    options = ("compare", *SMALL, "--drafter", LLAMA_DRAFT, "--prompt", "Which?", "--json")
    for option, words in ((("--grammar", grammar), 0), (("--json-schema", schema), 1)):
        lanes = json.loads(slipstream(*options, option[0], str(option[1])).out)["lanes"]
        assert {lane["text"].strip('"') for lane in lanes} <= {"left", "right"}
        assert [lane["text"].startswith('"') for lane in lanes] == [bool(words)] * 2


# ------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("option", "content", "complaint", "code"),
    [
        ("--grammar", "root ::= nowhere", "grammar cannot be read", 1),
        ("--grammar", " ", "grammar file is empty", 2),
        ("--json-schema", '{"type": "thing"}', "JSON schema cannot be used", 1),
    ],
)
def test_a_bad_grammar_or_schema_is_told_in_a_sentence(
    tmp_path: Path, option: str, content: str, complaint: str, code: int
) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    outcome = slipstream("generate", *SMALL, "--prompt", "a", option, str(path))
    assert outcome.code == code
    assert complaint in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out.strip() == ""


def test_invalid_utf8_in_a_prompt_file_is_placed(tmp_path: Path) -> None:
    path = tmp_path / "latin1.txt"
    path.write_bytes(b"caf\xe9")
    outcome = slipstream("compare", *SMALL, "--prompt-file", str(path))
    assert_plain_failure(outcome, 1)
    assert "not valid UTF-8" in outcome.err
    assert "byte 3" in outcome.err


def test_a_missing_prompt_file_is_named(tmp_path: Path) -> None:
    outcome = slipstream("compare", *SMALL, "--prompt-file", str(tmp_path / "none.txt"))
    assert_plain_failure(outcome, 1)
    assert "none.txt" in outcome.err


@pytest.mark.parametrize("prompt", ["", " \n\t "])
def test_an_empty_prompt_is_refused(prompt: str) -> None:
    outcome = slipstream("generate", *SMALL, "--prompt", prompt)
    assert_plain_failure(outcome, 1)
    assert "empty" in outcome.err


def test_a_target_that_is_no_gguf_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "notes.gguf"
    path.write_text("no model")
    outcome = slipstream("compare", "--target", str(path), "--prompt", "Hello", "--json")
    assert_plain_failure(outcome, 1)
    assert "notes.gguf" in outcome.err


def test_a_missing_target_is_a_sentence() -> None:
    assert_plain_failure(slipstream("compare", "--target", "/nowhere/m.gguf", "--prompt", "Hello"), 1)


def test_a_prompt_longer_than_the_context_is_a_sentence() -> None:
    outcome = slipstream("compare", *SMALL, "--prompt", "word " * 600)
    assert outcome.code == 1
    assert "256" in outcome.err
    assert "Traceback" not in outcome.err


# -------------------------------------------------------------------------------------------------- signals


def children_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def wait_for_output(process: subprocess.Popen[bytes]) -> None:
    """Wait until the first words of an answer have come, after its heading."""
    assert process.stdout is not None
    assert process.stdout.read(400)


def wait_for_work(process: subprocess.Popen[bytes]) -> None:
    """Wait until the worker has used a second of processor time: with --json there is nothing to see."""
    deadline_s = time.monotonic() + 60
    while time.monotonic() < deadline_s:
        if any(sum(child.cpu_times()[:2]) > 1.0 for child in children_of(process)):
            return
        time.sleep(0.05)
    raise AssertionError("the worker has not begun")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_everything_with_its_own_code(number: signal.Signals, code: int) -> None:
    with start_slipstream(["compare", *LONG, "--raw"]) as process:
        wait_for_output(process)
        children = children_of(process)
        # Ctrl-C reaches the whole foreground group, the worker too; so does SIGTERM from systemd or timeout.
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert b"Traceback" not in err
    cause = b"Ctrl-C" if number is signal.SIGINT else b"SIGTERM"
    assert err == b"slipstream: stopped by " + cause + b"; this is what there was.\n"
    assert b"cancelled" in out
    assert b"baseline" in out
    claims = [line for line in out.splitlines() if b" against " in line]
    assert all(line.startswith(b"So far ") for line in claims)
    assert psutil.wait_procs(children, timeout=5)[1] == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_with_json_prints_what_there_is(number: signal.Signals, code: int) -> None:
    slow = ["compare", *LONG, "--raw", "--temperature", "1", "--json"]
    with start_slipstream(slow) as process:
        wait_for_work(process)
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=30)
    assert process.returncode in (0, code), err
    report = json.loads(out)
    assert len(report["lanes"]) == 2
    if process.returncode == code:
        assert "cancelled" in [lane["finish_reason"] for lane in report["lanes"]]


def test_two_signals_while_a_model_loads_are_no_mistake_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = parse_arguments(["compare", *SMALL, "--prompt", "Hello"])
    assert arguments.run is not None
    service = DeafService()
    with EngineClient(service) as client, pytest.raises(Interrupted) as interrupted:
        load(client, Bundle("Tiny", LLAMA), arguments.run)
    assert interrupted.value.number == signal.SIGINT
    assert capsys.readouterr().out == ""


class DeafService(Service):
    """Loads nothing; while it is asked to, Ctrl-C is pressed twice."""

    def load(self, bundle: Bundle, settings: LoadSettings) -> int:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
        return 1_000


def test_when_the_worker_dies_what_both_lanes_said_is_shown() -> None:
    with start_slipstream(["compare", *LONG, "--raw"]) as process:
        wait_for_output(process)
        worker = max(children_of(process), key=lambda child: child.memory_info().rss)
        worker.kill()
        out, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert err.startswith(b"slipstream: ")
    assert b"signal 9" in err
    assert "── baseline ".encode() in out
    assert out.endswith(b"\n")


def test_a_reader_that_goes_away_is_no_error() -> None:
    with start_slipstream(["compare", *LONG, "--raw"]) as process:
        wait_for_output(process)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(timeout=60) == 141
        assert process.stderr.read() == b""


def test_the_worker_goes_when_the_command_is_killed() -> None:
    with start_slipstream(["compare", *LONG, "--raw"]) as process:
        wait_for_output(process)
        children = children_of(process)
        process.kill()
        process.wait()
    assert children
    assert psutil.wait_procs(children, timeout=5)[1] == []


def test_a_full_disk_behind_standard_output_is_a_sentence() -> None:
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(
            [*COMMAND, "devices"], stdout=full, stderr=subprocess.PIPE, cwd=ROOT, timeout=60, check=False
        )
    assert result.returncode == 1
    assert b"Traceback" not in result.stderr
    assert result.stderr.startswith(b"slipstream: ")
