from __future__ import annotations

import json

from engine.measure.report import (
    BASELINE,
    SPECULATIVE,
    DifferenceReport,
    as_json,
    lane_report,
    run_report,
)
from engine.speculation.ngram import NgramDrafter
from engine.speculation.round import FinishReason, Round
from tests.engine.speculation.helpers import answer, text_of
from tests.numpy_models import NumpyModel, markov_table

TABLE = markov_table(8, seed=1, sharpness=2.0)

LANE_KEYS = [
    "name",
    "text",
    "tokens",
    "ttft_s",
    "prefill_s",
    "decode_s",
    "tokens_per_s",
    "tpot_s",
    "end_to_end_s",
    "finish_reason",
    "rounds",
    "drafted",
    "accepted",
    "acceptance_rate",
    "mean_accepted_length",
    "accepted_by_position",
    "draft_s",
    "verify_s",
    "draft_lengths",
    "sources",
    "skipped",
    "why",
]


def test_race_has_the_promised_shape() -> None:
    plain = list(answer(NumpyModel(TABLE), max_tokens=30))
    speculative = list(answer(NumpyModel(TABLE), max_tokens=30, drafter=NgramDrafter()))
    lanes = [lane_report(BASELINE, plain), lane_report(SPECULATIVE, speculative)]
    report = json.loads(as_json(run_report("t.gguf", "ngram", 3, lanes, DifferenceReport(4, 0.5))))
    assert list(report) == ["target", "drafter", "prompt_tokens", "speedup", "first_difference", "lanes"]
    assert report["first_difference"] == {"index": 4, "logit_gap": 0.5}
    assert [list(lane) for lane in report["lanes"]] == [LANE_KEYS, LANE_KEYS]
    first, second = report["lanes"]
    assert report["speedup"] == second["tokens_per_s"] / first["tokens_per_s"]
    assert first["text"] == second["text"] == text_of(first["tokens"])
    assert (first["name"], first["finish_reason"], first["acceptance_rate"]) == ("baseline", "length", None)
    assert second["accepted"] == sum(second["accepted_by_position"]) > 0


def test_single_lane_compares_nothing() -> None:
    lane = lane_report(SPECULATIVE, list(answer(NumpyModel(TABLE), max_tokens=3)))
    report = json.loads(as_json(run_report("t.gguf", "none", 3, [lane])))
    assert report["lanes"][0]["mean_accepted_length"] == 1.0
    assert (report["speedup"], report["first_difference"], len(report["lanes"])) == (None, None, 1)


def test_one_token_has_a_length_but_no_speed() -> None:
    lane = lane_report(SPECULATIVE, list(answer(NumpyModel(TABLE), max_tokens=1)))
    assert (lane.rounds, lane.mean_accepted_length) == (0, 1.0)
    assert (lane.tokens_per_s, lane.tpot_s, lane.acceptance_rate) == (None, None, None)


def test_a_parting_whose_gap_is_not_known_is_still_a_parting() -> None:
    report = json.loads(as_json(run_report("t.gguf", "none", 3, [], DifferenceReport(4, None))))
    assert report["first_difference"] == {"index": 4, "logit_gap": None}


def test_lane_that_did_not_finish_was_cancelled() -> None:
    rounds = list(answer(NumpyModel(TABLE), max_tokens=9))[:4]
    report = lane_report(BASELINE, rounds, tail="…")
    assert report.finish_reason == "cancelled"
    assert report.text.endswith("…")
    assert lane_report(BASELINE, []).ttft_s is None


def test_a_race_that_was_cut_off_has_no_speedup() -> None:
    whole = Round(tokens=(1, 2), pieces=("a", "b"), total_s=1.0, finish_reason=FinishReason.STOP)
    cut = Round(tokens=(1, 2), pieces=("a", "b"), total_s=2.0)
    first = Round(tokens=(0,), pieces=("",), n_prompt=1, total_s=0.1)
    lanes = [lane_report("baseline", [first, cut]), lane_report("speculative", [first, whole])]
    assert lanes[0].tokens_per_s is not None
    assert run_report("t.gguf", "ngram", 1, lanes).speedup is None
