"""`slipstream bench` from the outside, on a small trained model."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import msgspec
import pytest

from engine.bench.plan import Task
from engine.bench.progress import Progress
from engine.bench.store import latest_result, result_path
from engine.cli.arguments import parse_arguments
from engine.cli.bench import parse_modes
from engine.cli.bench_table import print_result, progress_text
from engine.errors import BadOption, SlipstreamError
from engine.models.bundle import Bundle, DrafterChoice, DrafterKind
from engine.recommend.store import NO_FIGURES, own_figures
from tests.engine.bench.results import raced, result_of
from tests.engine.cli.slipstream import LLAMA, LLAMA_DRAFT, slipstream, start_slipstream

TINY = ["bench", "--target", LLAMA, "--drafter", LLAMA_DRAFT, "--threads", "1", "--context", "1024"]
SHORT = ["--categories", "coding,creative", "--tasks-per-category", "1", "--max-tokens", "12"]


def data_in(folder: Path) -> dict[str, str]:
    return {"SLIPSTREAM_DATA_DIR": str(folder)}


def test_json_has_figures_runs_and_advice_and_the_result_is_kept(tmp_path: Path) -> None:
    card = tmp_path / "card.md"
    outcome = slipstream(
        *TINY, *SHORT, "--modes", "off,2", "--json", "--markdown", str(card), environment=data_in(tmp_path)
    )
    assert outcome.code == 0, outcome.err
    told = json.loads(outcome.out)
    assert [(one["category"], one["mode"]) for one in told["figures"]] == [
        ("coding", "off"), ("coding", "2"), ("creative", "off"), ("creative", "2"),
    ]  # fmt: skip
    assert {(run["task"], run["mode"]) for run in told["runs"]} == {
        (task, mode) for task in ("coding-lru-cache", "creative-last-bookshop") for mode in ("off", "2")
    }
    drafting = [run for run in told["runs"] if run["mode"] == "2"]
    assert all(len(run["drafted_by_position"]) == 2 for run in drafting)
    assert all(run["n_prompt"] > 50 for run in told["runs"])
    assert told["is_complete"] is True
    assert told["machine"]["n_threads"] == 1
    assert "of memory" in told["advice"]
    assert "4 answers: 2 tasks in 2 modes." in outcome.err
    assert card.read_text(encoding="utf-8").startswith("# llama: llama.gguf with llama-draft.gguf")
    bundle = Bundle("any", LLAMA, DrafterChoice(DrafterKind.MODEL, LLAMA_DRAFT))
    kept = latest_result(bundle, tmp_path)
    assert kept is not None
    assert len(kept.runs) == 4
    assert own_figures(bundle, tmp_path) == NO_FIGURES, "with other threads than usual, and short answers"
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_a_suite_of_ones_own_and_a_task_that_is_too_long_for_the_context(tmp_path: Path) -> None:
    suite = tmp_path / "mine.jsonl"
    long = json.dumps({"id": "long", "category": "mail", "prompt": "word " * 900, "max_tokens": 8})
    suite.write_text(
        long + '\n{"id": "short", "category": "mail", "prompt": "Hi", "max_tokens": 9}\n', "utf-8"
    )
    outcome = slipstream(
        *TINY[:-1], "256", "--suite", str(suite), "--modes", "off", environment=data_in(tmp_path)
    )
    assert outcome.code == 0, outcome.err
    assert "mail" in outcome.out
    assert "Left out: a prompt of mail (long): The prompt" in outcome.out


def test_ctrl_c_keeps_what_was_measured_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLIPSTREAM_DATA_DIR", str(tmp_path))
    command = [*TINY, "--categories", "coding,maths", "--max-tokens", "160", "--modes", "off,1", "--json"]
    first = start_slipstream(command)
    deadline_s = time.monotonic() + 60
    while not any(path.stat().st_size for path in tmp_path.rglob("*.jsonl")):
        assert time.monotonic() < deadline_s
        assert first.poll() is None
        time.sleep(0.02)
    first.send_signal(signal.SIGINT)
    out, err = first.communicate(timeout=60)
    assert first.returncode == 130, err.decode()
    told = json.loads(out)
    assert told["is_complete"] is False
    assert 0 < len(told["runs"]) < 16
    assert b"the same command goes on from here" in err
    second = slipstream(*command)
    assert second.code == 0, second.err
    again = json.loads(second.out)
    assert len(again["runs"]) == 16
    n_whole = 2 * (len(told["runs"]) // 2)
    assert again["runs"][:n_whole] == told["runs"][:n_whole]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--modes", "off,17"], "“17” is no mode: those are off, auto, and draft lengths from 1 to 16"),
        (["--modes", ","], "There is no mode to measure"),
        (["--categories", "poems"], "There is no category “poems”"),
        (["--repeat", "0"], "--repeat must be between 1 and 100"),
        (["--max-tokens", "-1"], "--max-tokens must be between 0 and"),
        (["--temperature", "-1"], "The temperature must be between 0 and 10"),
        (["--suite", "none.jsonl"], "The suite “none.jsonl” cannot be read"),
        (["--markdown", "no such folder/card.md"], "There is no folder for the card"),
        (["\udcff"], "The name of the model is not valid UTF-8"),
        (["--context", "3"], "The context must be between"),
        (["--bundle", "a", "b"], "Name one model: as NAME, --bundle or --target"),
        (["--target", LLAMA, "--drafter", "none"], "Without a drafter there is only one mode"),
        ([LLAMA, "--drafter", "none"], "Without a drafter there is only one mode"),
        (["no-such-model"], "There is no model “no-such-model” on this computer"),
    ],
)
def test_a_wrong_option_is_a_sentence_before_anything_starts(arguments: list[str], sentence: str) -> None:
    act = parse_arguments(["bench", *arguments]).act
    assert act is not None
    with pytest.raises(SlipstreamError, match=sentence):
        act()


def test_modes_are_taken_once_each_in_their_order() -> None:
    assert parse_modes("auto, off,03,3,auto") == ("auto", "off", "3")
    with pytest.raises(BadOption):
        parse_modes("²")


def test_the_progress_says_what_runs_and_how_long_it_takes() -> None:
    task = Task("maths-dice", "maths", "?")
    assert progress_text(Progress(0, 8)) == "Warming up …"
    assert progress_text(Progress(8, 8, left_s=0.0)) == "8 of 8"
    assert progress_text(Progress(3, 8, is_reloading=True)) == "3 of 8: loading again …"
    assert progress_text(Progress(0, 8, task, "off")) == "1 of 8: maths-dice, off"
    assert progress_text(Progress(3, 8, task, "6", 89.0)) == "4 of 8: maths-dice, draft 6, about 89 s left"
    assert progress_text(Progress(3, 8, task, "auto", 600.0)).endswith("auto, about 10 min left")
    assert progress_text(Progress(3, 8, task, "auto", 9000.0)).endswith("auto, about 2 h 30 min left")


def test_people_read_speedups_by_category_and_mode(capsys: pytest.CaptureFixture[str]) -> None:
    runs = [*raced("coding", "auto", 2.0, 0.9), *raced("creative", "auto", 0.8, 0.3)]
    print_result(result_of(runs, is_complete=False), ["creative"])
    out = capsys.readouterr().out
    assert "Broken off: this is what there was." in out
    assert "off, tok/s   auto\n" in out
    assert "coding          10.0  2.00×\n" in out
    assert "overall         10.0  1.26×\n" in out
    assert "With draft length auto:\n" in out
    assert "creative       8.0         8.0 to 8.0     0.80×       30%" in out
    assert "slowest to fastest kind" in out
    assert "Best so far: draft length auto, +26% at temperature 0.\n" in out
    assert "Creative: no, with draft length auto" in out


def test_what_was_broken_off_before_anything_could_be_compared_has_no_tables(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_result(msgspec.structs.replace(result_of([], is_complete=False), left_out=("It ended.",)))
    out = capsys.readouterr().out
    assert "tokens/s" not in out
    assert "Nothing can be said yet" in out


def test_a_folder_that_bears_the_name_of_a_model_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no-such-model").mkdir()
    monkeypatch.chdir(tmp_path)
    act = parse_arguments(["bench", "no-such-model"]).act
    assert act is not None
    with pytest.raises(SlipstreamError, match="There is no model “no-such-model” on this computer"):
        act()


def test_a_result_that_cannot_be_kept_is_said_and_can_be_had_again(tmp_path: Path) -> None:
    suite = tmp_path / "mine.jsonl"
    suite.write_text('{"id": "short", "category": "mail", "prompt": "Hi", "max_tokens": 9}\n', "utf-8")
    command = [*TINY, "--suite", str(suite), "--modes", "off,2", "--json"]
    bundle = Bundle("any", LLAMA, DrafterChoice(DrafterKind.MODEL, LLAMA_DRAFT))
    # A folder in the file's place.
    path = result_path(bundle, tmp_path)
    path.mkdir(parents=True)
    first = slipstream(*command, environment=data_in(tmp_path))
    assert "slipstream: the result could not be kept" in first.err
    path.rmdir()
    second = slipstream(*command, environment=data_in(tmp_path))
    assert "2 of them were measured before" in second.err
    assert json.loads(second.out)["runs"] == json.loads(first.out)["runs"]
    assert list(tmp_path.rglob("*.jsonl")) == [suite]
