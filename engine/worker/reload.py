"""What a new worker loads again after the last one was lost."""

from __future__ import annotations

import msgspec

from engine.errors import Cancelled
from engine.worker.inbox import Job
from engine.worker.messages import (
    BudgetMeasured,
    DevicesListed,
    DevicesMeasured,
    Failed,
    Finished,
    LoadBundle,
    Loaded,
    Unload,
    Unloaded,
)

JobEnd = Finished | Loaded | Unloaded | DevicesListed | DevicesMeasured | BudgetMeasured | Failed


class Reload:
    """Remembers the load that is in force. `job` is the id of the latest reload, 0 before the first one."""

    def __init__(self) -> None:
        self.job = 0
        self._load: LoadBundle | None = None

    def begin(self, job: int) -> LoadBundle:
        """Return the command that loads again what was loaded, as `job`; only while `is_due`."""
        assert self._load is not None
        self.job = job
        return msgspec.structs.replace(self._load, job=job)

    @property
    def is_due(self) -> bool:
        """Whether there is anything to load again."""
        return self._load is not None

    def note_end(self, job: Job | None, end: JobEnd) -> None:
        """`job` has ended with `end`. A failed load has taken the place of what was loaded before."""
        if isinstance(end, Loaded):
            if isinstance(job, LoadBundle):
                self._load = job
        elif isinstance(job, Unload) or self._takes_the_place(job) or self._was_given_up(end):
            self._load = None

    def note_death(self, doing: Job | None) -> None:
        """The worker has ended while it did `doing`: a load that may have ended it is not followed by another."""
        if self._takes_the_place(doing):
            self._load = None

    def _takes_the_place(self, job: Job | None) -> bool:
        return isinstance(job, LoadBundle) and job.job != self.job

    def _was_given_up(self, end: JobEnd) -> bool:
        return isinstance(end, Failed) and end.job == self.job and end.kind == Cancelled.__name__
