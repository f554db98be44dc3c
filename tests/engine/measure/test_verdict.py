from __future__ import annotations

import pytest

from engine.measure.metrics import Metrics
from engine.measure.verdict import verdict
from engine.speculation.round import FinishReason


def lane(
    tokens_per_s: float,
    finish_reason: FinishReason | None = FinishReason.STOP,
    accepted: int = 9,
    drafted: int = 10,
) -> Metrics:
    return Metrics(
        n_tokens=101,
        decode_s=100 / tokens_per_s,
        drafted_by_position=(drafted,),
        accepted_by_position=(accepted,),
        finish_reason=finish_reason,
    )


@pytest.mark.parametrize(
    ("plain", "speculative", "sentence"),
    [
        (25.3, 41.0, "1.62× faster: 41.0 against 25.3 tokens/s"),
        (25.3, 21.5, "0.85× — slower: 21.5 against 25.3 tokens/s"),
        (25.3, 25.1, "About the same: 25.1 against 25.3 tokens/s"),
        (100.4, 250.6, "2.50× faster: 251 against 100 tokens/s"),
    ],
)
def test_sentence_says_who_won_and_by_how_much(plain: float, speculative: float, sentence: str) -> None:
    assert verdict(lane(plain), lane(speculative)).sentence == sentence


def test_running_race_says_so() -> None:
    running = verdict(lane(25.3, None), lane(41.0))
    assert running.sentence == "So far 1.62× faster: 41.0 against 25.3 tokens/s"
    assert verdict(lane(20.0, None), lane(20.0, None)).sentence.startswith("So far about the same")


def test_stopped_race_is_final() -> None:
    stopped = verdict(lane(25.3, None), lane(41.0, None), is_final=True)
    assert stopped.sentence == "1.62× faster: 41.0 against 25.3 tokens/s"


def test_without_throughput_there_is_no_number() -> None:
    waiting = verdict(Metrics(), lane(41.0, None))
    assert (waiting.speedup, waiting.is_faster, waiting.is_slower) == (None, False, False)
    assert waiting.sentence == "Waiting for both lanes."
    one_token = Metrics(n_tokens=1, finish_reason=FinishReason.STOP)
    assert verdict(one_token, one_token).sentence == "Too few tokens to compare."


def test_faster_and_slower() -> None:
    assert verdict(lane(10), lane(12)).is_faster
    assert verdict(lane(10), lane(8)).is_slower
    same = verdict(lane(10), lane(10.2))
    assert not same.is_faster
    assert not same.is_slower
    assert same.speedup == pytest.approx(1.02)


def test_a_lead_without_an_accepted_draft_is_called_chance() -> None:
    lucky = verdict(lane(4.0), lane(6.0, accepted=0))
    assert not lucky.is_faster
    assert lucky.sentence == "1.50× faster by chance, no draft was accepted: 6.0 against 4.0 tokens/s"


@pytest.mark.parametrize("speed", [14.0, 28.0])
def test_without_a_draft_no_lane_is_called_faster_or_slower(speed: float) -> None:
    idle = verdict(lane(20.0), lane(speed, accepted=0, drafted=0))
    assert not idle.is_faster
    assert not idle.is_slower
    assert idle.sentence.startswith("Nothing was drafted, so the lanes differ by chance")
