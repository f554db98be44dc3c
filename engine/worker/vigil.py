"""Whether a worker still answers."""

from __future__ import annotations

from engine.worker.messages import Event, Pong, Ready
from engine.worker.supervision import SupervisionSettings, WorkerAnswers, WorkerSilent


class Vigil:
    """Counts the silence of one worker. All times are seconds of one monotonic clock that the caller
    reads.
    """

    def __init__(self, settings: SupervisionSettings, now_s: float) -> None:
        self._settings = settings
        self._heard_at_s = now_s
        self._looked_at_s = now_s
        self._pinged_at_s = now_s
        self._step_s = 0.0
        self._pings = 0
        self._is_ready = False
        self._is_silent = False

    def ping_due(self, now_s: float) -> bool:
        return self._is_ready and now_s - self._pinged_at_s >= self._settings.ping_every_s

    def count_ping(self, now_s: float) -> int:
        """Note that a ping is sent now and return its number."""
        self._pinged_at_s = now_s
        self._pings += 1
        return self._pings

    def hear(self, now_s: float, event: Event) -> WorkerAnswers | None:
        """Take any event as a sign of life."""
        self._heard_at_s = now_s
        if isinstance(event, Ready):
            self._is_ready = True
            self._pinged_at_s = now_s
        if isinstance(event, Pong):
            self._step_s = event.pass_s
        if self._is_silent and self._silence_s(now_s) is None:
            self._is_silent = False
            return WorkerAnswers()
        return None

    def check(self, now_s: float, job: int) -> WorkerSilent | None:
        """Return a report at the beginning of each silence."""
        # When nobody looked for a while, this process itself was stopped or the computer slept.
        if now_s - self._looked_at_s > 3 * self._settings.ping_every_s:
            self._heard_at_s = now_s
        self._looked_at_s = now_s
        silence_s = self._silence_s(now_s)
        if silence_s is None or self._is_silent:
            return None
        self._is_silent = True
        return WorkerSilent(job, silence_s)

    def _silence_s(self, now_s: float) -> float | None:
        if self._step_s > self._settings.step_limit_s:
            return self._step_s
        limit_s = self._settings.silent_after_s if self._is_ready else self._settings.start_within_s
        silence_s = now_s - self._heard_at_s
        return silence_s if silence_s > limit_s else None
