"""What supervision reports beside the worker's own events."""

from __future__ import annotations

import msgspec

from engine.worker.messages import Event


class WorkerLost(msgspec.Struct, frozen=True, tag=True):
    """The worker ended by itself. `job` is what it was doing (0: nothing); every waiting job has got its
    Failed already.

    A new worker is being started and what was loaded is reloaded: Reloading says under which job id, Ready
    and that job's Loaded or Failed follow. A load that ended the worker is not repeated, and neither is what
    was loaded before it: it had taken its place. Where the worker keeps ending while it starts or loads, it
    stays down until the next command.
    """

    job: int
    sentence: str
    remedy: str
    detail: str


class Reloading(msgspec.Struct, frozen=True, tag=True):
    """A new worker loads again what the lost one had loaded. Nobody asked for this `job`, but it can be
    cancelled like any other, and then it is not tried again.
    """

    job: int


class WorkerSilent(msgspec.Struct, frozen=True, tag=True):
    """The worker has not answered for `silent_s` seconds; `end_worker` would end and restart it."""

    job: int
    silent_s: float


class WorkerAnswers(msgspec.Struct, frozen=True, tag=True):
    """A worker that was reported silent answers again."""


ServiceEvent = Event | WorkerLost | Reloading | WorkerSilent | WorkerAnswers


class SupervisionSettings(msgspec.Struct, frozen=True):
    """How patient supervision is.

    The worker is asked for a sign of life every `ping_every_s`; it is silent after `silent_after_s` without
    any, or after `start_within_s` while it starts, or when one step of its work has run for `step_limit_s`.
    After `max_quick_deaths` deaths without a successful load in between it is not restarted unasked; before
    each restart it waits `restart_delay_s` for every such death but the first.
    """

    ping_every_s: float = 1.0
    silent_after_s: float = 5.0
    start_within_s: float = 30.0
    step_limit_s: float = 120.0
    max_quick_deaths: int = 3
    restart_delay_s: float = 0.5
    shutdown_grace_s: float = 0.5


DEFAULT_SUPERVISION = SupervisionSettings()
