from __future__ import annotations

import math

import msgspec
import pytest

from engine.measure.metrics import Metrics, measure
from engine.speculation.round import DraftSource, FinishReason, Round
from tests.engine.speculation.helpers import answer
from tests.numpy_models import NumpyModel, markov_table

READ = Round(n_prompt=512, draft_s=0.5, verify_s=2.0, total_s=2.5)
FIRST = Round(tokens=(1,), pieces=("a",), n_prompt=100, verify_s=0.4, total_s=0.5)
DRAFTED = Round(
    tokens=(2, 3, 4),
    pieces=("b", "c", "d"),
    drafted=(2, 3, 9),
    accepted=2,
    source=DraftSource.NGRAM,
    draft_s=0.1,
    verify_s=0.3,
    total_s=0.5,
)
PLAIN = Round(tokens=(5,), pieces=("e",), verify_s=0.2, total_s=0.3)
CUT = Round(
    tokens=(6,),
    pieces=("",),
    drafted=(6, 7, 8, 9),
    accepted=1,
    source=DraftSource.NGRAM,
    verify_s=0.1,
    total_s=0.2,
    finish_reason=FinishReason.STOP,
)
ROUNDS = [READ, FIRST, DRAFTED, PLAIN, CUT]


def test_figures_of_an_answer() -> None:
    m = measure(ROUNDS)
    assert (m.n_prompt, m.n_tokens, m.rounds, m.drafted, m.accepted) == (612, 6, 3, 7, 3)
    assert m.finish_reason is FinishReason.STOP
    assert m.ttft_s == pytest.approx(3.0)
    assert m.prefill_s == pytest.approx(2.4)
    assert m.prefill_tokens_per_s == pytest.approx(612 / 2.4)
    assert m.decode_s == pytest.approx(1.0)
    assert m.tokens_per_s == pytest.approx(5.0)
    assert m.tpot_s == pytest.approx(0.2)
    assert m.end_to_end_s == pytest.approx(4.0)
    assert m.acceptance_rate == pytest.approx(3 / 7)
    assert m.mean_accepted_length == pytest.approx(2.0)
    assert m.draft_s == pytest.approx(0.1)
    assert m.verify_s == pytest.approx(0.6)


def test_positions_count_the_rounds_that_reached_them() -> None:
    m = measure(ROUNDS)
    assert m.drafted_by_position == (2, 2, 2, 1)
    assert m.accepted_by_position == (2, 1, 0, 0)


def test_figures_can_be_folded_round_by_round() -> None:
    metrics = Metrics()
    for i, done in enumerate(ROUNDS):
        metrics = metrics.plus(done)
        assert metrics == measure(ROUNDS[: i + 1])


def test_what_does_not_exist_yet_is_none() -> None:
    m = measure([READ])
    assert (m.ttft_s, m.tokens_per_s, m.tpot_s, m.acceptance_rate, m.mean_accepted_length) == (None,) * 5
    assert m.end_to_end_s == pytest.approx(2.5)
    assert Metrics().prefill_tokens_per_s is None


def test_answer_of_one_token_has_no_throughput() -> None:
    m = measure([READ, FIRST])
    assert m.ttft_s == pytest.approx(3.0)
    assert (m.tokens_per_s, m.tpot_s, m.decode_s) == (None, None, 0.0)


def test_clock_that_stands_still_gives_no_infinite_figures() -> None:
    still = [msgspec.structs.replace(done, draft_s=0.0, verify_s=0.0, total_s=0.0) for done in ROUNDS]
    m = measure(still)
    assert (m.tokens_per_s, m.prefill_tokens_per_s, m.tpot_s) == (None, None, 0.0)


def test_lane_without_drafter_has_length_one_and_no_rate() -> None:
    m = measure(answer(NumpyModel(markov_table(8, seed=1, sharpness=1.0)), max_tokens=20))
    assert (m.n_tokens, m.rounds, m.mean_accepted_length, m.acceptance_rate) == (20, 19, 1.0, None)
    assert (m.drafted_by_position, m.accepted_by_position) == ((), ())


def test_every_figure_is_finite() -> None:
    m = measure(ROUNDS)
    names = [name for name in dir(Metrics) if name.endswith(("_s", "_rate", "_length"))]
    assert len(names) >= 10
    assert all(math.isfinite(getattr(m, name)) for name in names)
