"""A comparison as it runs: which job, which lanes, what they have given so far. No widgets here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.format import share
from app.lane import Lane
from engine.measure.verdict import Verdict, verdict
from engine.models.bundle import Bundle
from engine.speculation.round import FinishReason
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import (
    PLAIN_LANE,
    SPECULATIVE_LANE,
    FirstDifference,
    LaneFinished,
    Loaded,
    RoundDone,
    Started,
)


@dataclass(slots=True)
class RaceRecord:
    """One comparison. `ended` is set when no more events come, `difference` then if the lanes part."""

    job: int
    bundle: Bundle
    loaded: Loaded | None
    settings: GenerationSettings
    prompt: str
    lanes: tuple[Lane, Lane] = field(default_factory=lambda: (Lane(), Lane()))
    n_prompt_tokens: int = 0
    seed: int = 0
    difference: FirstDifference | None = None
    ended: bool = False

    @property
    def plain(self) -> Lane:
        return self.lanes[PLAIN_LANE]

    @property
    def speculative(self) -> Lane:
        return self.lanes[SPECULATIVE_LANE]

    def start(self, event: Started) -> None:
        self.n_prompt_tokens = event.n_prompt_tokens
        self.seed = event.seed

    def add(self, events: Sequence[RoundDone]) -> None:
        for lane_index, lane in enumerate(self.lanes):
            lane.add([event.round for event in events if event.lane == lane_index])

    def finish_lane(self, event: LaneFinished) -> None:
        self.lanes[event.lane].finish(event.reason, event.tail)

    def verdict(self) -> Verdict:
        """Return who leads, or who won once both lanes have come to their end; a race cut off has no winner."""
        return verdict(self.plain.metrics, self.speculative.metrics, is_final=self.ended and self.is_whole)

    def fraction(self, lane: Lane) -> float:
        """Return how far `lane` is: of the most tokens, or of what the other lane needed in all."""
        finished = [other.metrics.n_tokens for other in self.lanes if other.is_finished]
        whole = max(finished) if finished else self.settings.max_tokens
        if lane.reason in (FinishReason.STOP, FinishReason.LENGTH):
            return 1.0
        return lane.metrics.n_tokens / max(whole, lane.metrics.n_tokens, 1)

    @property
    def is_whole(self) -> bool:
        """Whether both lanes came to an end of their own."""
        return all(lane.reason in (FinishReason.STOP, FinishReason.LENGTH) for lane in self.lanes)

    def detail(self) -> str:
        """Return what stands under the verdict: acceptance, and whether the texts are the same."""
        parts = []
        if (rate := self.speculative.metrics.acceptance_rate) is not None:
            parts.append(f"{share(rate)} of drafts accepted")
        elif self.speculative.metrics.rounds:
            parts.append("nothing was drafted" if self.ended else "nothing drafted so far")
        if self.ended and not self.is_whole:
            parts.append(
                f"cut off after {self.plain.metrics.n_tokens} and {self.speculative.metrics.n_tokens} tokens"
            )
        elif self.ended:
            parts.append(self._sameness())
            parts.append("each lane had the whole computer to itself")
        return " · ".join(parts)

    def _sameness(self) -> str:
        if not self.settings.sampling.is_greedy:
            return "sampled, so the texts may differ"
        if self.difference is not None:
            return f"same text up to token {self.difference.index + 1}"
        return "same text" if self.plain.text == self.speculative.text else "the texts differ in length"
