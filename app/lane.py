"""One lane as the window knows it: its rounds, and everything shown about it folded from them."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.measure.metrics import Metrics, measure
from engine.speculation.round import FinishReason, Round


@dataclass(slots=True)
class Lane:
    """The rounds of one answer. `tail` is text after the last round, `reason` why the lane ended."""

    rounds: list[Round] = field(default_factory=list)
    metrics: Metrics = field(default_factory=lambda: measure(()))
    reason: FinishReason | None = None
    tail: str = ""

    def add(self, rounds: list[Round]) -> None:
        """Take `rounds` in; the metrics are folded on, never computed anew."""
        for one in rounds:
            self.rounds.append(one)
            self.metrics = self.metrics.plus(one)

    def finish(self, reason: FinishReason, tail: str = "") -> None:
        self.reason = reason
        self.tail = tail

    @property
    def text(self) -> str:
        return "".join(one.text for one in self.rounds) + self.tail

    @property
    def is_finished(self) -> bool:
        return self.reason is not None
