"""What came of a run: rounds and figures of each lane."""

from __future__ import annotations

from collections.abc import Sequence

from engine.cli.live import Live
from engine.measure.metrics import Metrics
from engine.service import ServiceEvent
from engine.speculation.round import FinishReason, Round
from engine.worker.messages import Finished, FirstDifference, LaneFinished, RoundDone, Started


class Recording:
    """Takes the events of one job, keeps its rounds and passes them on to `live`."""

    def __init__(self, lanes: Sequence[int], live: Live) -> None:
        self.lanes = tuple(lanes)
        self.rounds: dict[int, list[Round]] = {lane: [] for lane in lanes}
        self.metrics = dict.fromkeys(lanes, Metrics())
        self.tails = dict.fromkeys(lanes, "")
        self.n_prompt_tokens = 0
        self.first_difference: FirstDifference | None = None
        self._live = live

    @property
    def was_cancelled(self) -> bool:
        return any(lane.finish_reason in (None, FinishReason.CANCELLED) for lane in self.metrics.values())

    def take(self, event: ServiceEvent) -> None:
        match event:
            case Started():
                self.n_prompt_tokens = event.n_prompt_tokens
            case RoundDone():
                self.rounds[event.lane].append(event.round)
                self.metrics[event.lane] = self.metrics[event.lane].plus(event.round)
                self._live.show(event.lane, event.round, self.metrics[event.lane])
            case LaneFinished():
                self.tails[event.lane] = event.tail
                self._live.finish(event.lane, event.tail)
            case Finished():
                self.first_difference = event.first_difference

    def close(self) -> None:
        self._live.close()
