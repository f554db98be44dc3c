"""How far a bench is and how long the rest will take."""

from __future__ import annotations

from dataclasses import dataclass

from engine.bench.plan import Task


@dataclass(frozen=True, slots=True)
class Progress:
    """A BenchProgress (engine/bench/driver.py)."""

    n_done: int
    n_total: int
    task: Task | None = None
    mode: str = ""
    left_s: float | None = None
    is_reloading: bool = False


@dataclass(frozen=True, slots=True)
class Pace:
    """How long the runs that are done took, by weight (PlannedRun.weight)."""

    n_runs: int = 0
    weight: float = 0.0
    took_s: float = 0.0

    def plus(self, weight: float, took_s: float) -> Pace:
        return Pace(self.n_runs + 1, self.weight + weight, self.took_s + took_s)

    def left_s(self, weight: float, running_s: float) -> float | None:
        """Return how long `weight` takes, of which `running_s` are over; None before anything is done."""
        if not self.weight:
            return None
        return max(weight * self.took_s / self.weight - running_s, 0.0)
