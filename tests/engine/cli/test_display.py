"""What is shown while answers come and at the end."""

from __future__ import annotations

import pytest

from engine.cli.live import Columns, Sections
from engine.cli.loading import note
from engine.cli.summary import difference_sentence, summary_table
from engine.cli.terminal import printable
from engine.cli.wrapping import cell_width, pad, wrap
from engine.measure.metrics import Metrics, measure
from engine.service import WorkerSilent
from engine.speculation.round import DraftSource, FinishReason, Round
from engine.worker.messages import PLAIN_LANE, SPECULATIVE_LANE, FirstDifference, LogLine

PROMPT_PASS = Round(tokens=(1,), pieces=("a",), n_prompt=4, verify_s=0.5, total_s=0.5)
ROUND = Round(
    tokens=(2, 3),
    pieces=("b", "c"),
    drafted=(2, 9),
    accepted=1,
    source=DraftSource.NGRAM,
    draft_s=0.1,
    verify_s=0.2,
    total_s=0.4,
    finish_reason=FinishReason.LENGTH,
)
TITLES = {SPECULATIVE_LANE: "speculative", PLAIN_LANE: "baseline"}


def test_sections_stream_one_lane_and_keep_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    sections = Sections((SPECULATIVE_LANE, PLAIN_LANE), TITLES)
    sections.show(PLAIN_LANE, PROMPT_PASS, Metrics())
    sections.show(SPECULATIVE_LANE, ROUND, Metrics())
    streamed = capsys.readouterr().out
    assert streamed.endswith("bc")
    assert "baseline" not in streamed
    sections.finish(SPECULATIVE_LANE, "!")
    sections.finish(PLAIN_LANE, "")
    sections.close()
    rest = capsys.readouterr().out
    assert rest.startswith("!\n── baseline ")
    assert rest.endswith("─\na\n")


def test_columns_end_with_both_whole_answers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    columns = Columns(TITLES, height=4)
    for i in range(12):
        columns.show(PLAIN_LANE, Round(tokens=(i,), pieces=(f"p{i}\n",)), Metrics())
        columns.show(SPECULATIVE_LANE, Round(tokens=(i,), pieces=(f"s{i}\n",)), Metrics())
    columns.close()
    last_frame = capsys.readouterr().out.split("F\x1b[2K")[-1]
    assert all(f"s{i} " in last_frame for i in range(12))
    assert all(f"p{i} " in last_frame for i in range(12))


def test_the_table_has_a_dash_where_there_is_no_figure() -> None:
    table = summary_table(["baseline", "speculative"], [Metrics(), measure([PROMPT_PASS, ROUND])])
    rows = {line[:22].strip(): line[22:].split() for line in table.splitlines()[1:]}
    assert rows["tokens per second"] == ["—", "5.0"]
    assert rows["acceptance rate"] == ["—", "50%"]
    assert rows["mean accepted length"] == ["—", "2.00"]
    assert rows["ended by"] == ["cancelled", "length"]


def test_the_difference_is_told_with_its_place_and_gap() -> None:
    sentence = difference_sentence(FirstDifference(30, 1, 2, 0.0012, 0.0001), is_complete=True)
    assert "token 31" in sentence
    assert "0.0012" in sentence
    assert difference_sentence(FirstDifference(30, 1, 2), is_complete=False) == "The lanes part at token 31."


def test_a_silent_worker_is_told_and_its_log_only_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    note(WorkerSilent(1, 6.2), verbose=False)
    note(LogLine("warn", "odd"), verbose=False)
    note(LogLine("warn", "odd"), verbose=True)
    assert capsys.readouterr().err.splitlines() == [
        "slipstream: no answer for 6 s; Ctrl-C ends it.",
        "llama.cpp warn: odd",
    ]


def test_an_answer_cannot_drive_the_terminal() -> None:
    assert printable("a\x1b[2Jb\x07\tc\nd\x9b1m") == "a[2Jb\tc\nd1m"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one two three", ["one two", "three"]),
        ("abcdefghijk", ["abcdefgh", "ijk"]),
        ("a\n\nb", ["a", "", "b"]),
        ("世界世界世界", ["世界世界", "世界"]),
        ("", [""]),
    ],
)
def test_text_is_wrapped_to_cells(text: str, lines: list[str]) -> None:
    wrapped = wrap(text, 8)
    assert wrapped == lines
    assert all(sum(map(cell_width, line)) <= 8 for line in wrapped)


@pytest.mark.parametrize(
    ("text", "padded"), [("ab", "ab   "), ("世界", "世界 "), ("世界世", "世界 "), ("e\u0301", "e\u0301    ")]
)
def test_a_cell_of_a_column_is_as_wide_as_the_column(text: str, padded: str) -> None:
    assert pad(text, 5) == padded
