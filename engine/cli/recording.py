"""What came of a run: rounds and figures of each lane."""

from __future__ import annotations

from collections.abc import Sequence

from engine.cli.live import Live
from engine.measure.metrics import Metrics
from engine.service import ServiceEvent
from engine.speculation.round import Round
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
    def is_empty(self) -> bool:
        """Whether no lane has got as far as its first token."""
        return not any(lane.n_tokens for lane in self.metrics.values())

    @property
    def is_complete(self) -> bool:
        """Whether every lane has ended by itself."""
        return all(lane.finish_reason is not None for lane in self.metrics.values())

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
