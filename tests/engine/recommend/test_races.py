from __future__ import annotations

import msgspec
import pytest

from engine.measure.metrics import Metrics
from engine.recommend.races import LEAST_TOKENS, telling_speeds
from engine.speculation.round import FinishReason


def lane(n_tokens: int = 100, drafted: int = 0, reason: FinishReason | None = FinishReason.STOP) -> Metrics:
    return Metrics(
        n_tokens=n_tokens, decode_s=2.0, rounds=n_tokens, drafted_by_position=(drafted,), finish_reason=reason
    )


def test_a_whole_race_tells_both_speeds() -> None:
    speeds = telling_speeds(lane(), msgspec.structs.replace(lane(drafted=50), decode_s=1.0))
    assert speeds is not None
    assert list(speeds) == pytest.approx([99 / 2, 99])


@pytest.mark.parametrize(
    ("plain", "speculative"),
    [
        (lane(), lane()),
        (lane(LEAST_TOKENS - 1), lane(drafted=50)),
        (lane(), lane(LEAST_TOKENS - 1, drafted=5)),
        (lane(reason=None), lane(drafted=50)),
        (lane(), lane(drafted=50, reason=FinishReason.CANCELLED)),
        (Metrics(), Metrics()),
    ],
    ids=["nothing drafted", "short", "short speculative", "cut off", "cancelled", "nothing"],
)
def test_a_race_that_tells_little_is_not_remembered(plain: Metrics, speculative: Metrics) -> None:
    assert telling_speeds(plain, speculative) is None
