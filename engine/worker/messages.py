"""The boundary between the app's process and the worker: frozen, typed messages (engine/worker/wire.py sends them).

Commands go to the worker, events come back. Every job has an id that the sender chose; every job ends with exactly one
of `Finished`, `Loaded`, `Unloaded`, `DevicesListed`, `DevicesMeasured`, `BudgetMeasured` or `Failed`. `Cancel` ends a
job early: a generation or a race then finishes with reason "cancelled" and keeps its rounds; anything else fails with
kind "Cancelled".
"""

from __future__ import annotations

from typing import Final

import msgspec

from engine.budget.budget import Budget, BudgetQuestion, KvType
from engine.chat.messages import Prompt as Prompt
from engine.models.bundle import DrafterChoice
from engine.models.capability import DrafterCapability as DrafterCapability
from engine.models.description import Device as Device
from engine.models.description import LoadedModel as LoadedModel
from engine.recommend.advice import ComputerSpeed
from engine.speculation.round import FinishReason, Round
from engine.speculation.settings import GenerationSettings

PLAIN_LANE: Final = 0
SPECULATIVE_LANE: Final = 1


class LoadSettings(msgspec.Struct, frozen=True):
    """How models are loaded. `n_ctx` 0: the model's own, at most 8192. `n_threads` 0: chosen while running.

    `n_gpu_layers` -1: all. `check_memory` False is "load anyway": nothing is compared with free memory. `kv_type` is
    how the caches of target and drafter store a number.
    """

    n_ctx: int = 0
    n_threads: int = 0
    n_gpu_layers: int = -1
    check_memory: bool = True
    kv_type: KvType = KvType.F16


# ------------------------------------------------------------------------------------------------ commands


class LoadBundle(msgspec.Struct, frozen=True, tag=True):
    """Load a target and its drafter in place of what is loaded; answered by Loaded.

    The same files with the same settings are not loaded again. A failed load leaves nothing loaded.
    """

    job: int
    target: str
    drafter: DrafterChoice
    settings: LoadSettings = LoadSettings()


class Unload(msgspec.Struct, frozen=True, tag=True):
    job: int


class Generate(msgspec.Struct, frozen=True, tag=True):
    """One lane: `speculative` says whether the loaded drafters are used.

    Reuses the conversation's cache, unless `fresh`: then it begins with empty ones, as a measurement does.
    """

    job: int
    prompt: Prompt
    settings: GenerationSettings
    speculative: bool = True
    fresh: bool = False


class Race(msgspec.Struct, frozen=True, tag=True):
    """Two lanes from empty caches, PLAIN_LANE and SPECULATIVE_LANE, each stepped when its own clock is behind."""

    job: int
    prompt: Prompt
    settings: GenerationSettings


class ListDevices(msgspec.Struct, frozen=True, tag=True):
    job: int


class MeasureBudget(msgspec.Struct, frozen=True, tag=True):
    """Answered by BudgetMeasured. What is loaded stays as it is, and counts as taken."""

    job: int
    question: BudgetQuestion


class Cancel(msgspec.Struct, frozen=True, tag=True):
    """Stop job `job`, whether it runs or waits; a job that has ended is left alone."""

    job: int


class Ping(msgspec.Struct, frozen=True, tag=True):
    n: int


class Shutdown(msgspec.Struct, frozen=True, tag=True):
    pass


class MeasureDevices(msgspec.Struct, frozen=True, tag=True):
    """Measure how fast each device reads weights, and what the starter model reaches on it; takes seconds."""

    job: int


Command = (
    LoadBundle
    | Unload
    | Generate
    | Race
    | ListDevices
    | MeasureBudget
    | MeasureDevices
    | Cancel
    | Ping
    | Shutdown
)


# -------------------------------------------------------------------------------------------------- events


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The worker has started and takes commands. `drafters` is what this build of llama.cpp can draft with."""

    pid: int
    llama_cpp_version: str
    drafters: tuple[DrafterCapability, ...] = ()


class LoadProgress(msgspec.Struct, frozen=True, tag=True):
    """`fraction` 0 to 1 of the weights of `what` ("target" or "drafter")."""

    job: int
    what: str
    fraction: float


class Loaded(msgspec.Struct, frozen=True, tag=True):
    """`memory_bytes` is what weights, caches and compute buffers take, by device name; `predicted_bytes` is what was
    expected before. `grown_bytes` is how much the process grew while it loaded.
    """

    job: int
    target: LoadedModel
    drafter: LoadedModel | None
    n_ctx: int
    n_threads: int
    flash_attention: bool
    devices: tuple[Device, ...]
    memory_bytes: dict[str, int]
    load_s: float
    predicted_bytes: dict[str, int] = {}
    grown_bytes: int = 0


class MemoryChanged(msgspec.Struct, frozen=True, tag=True):
    """What is loaded takes more than before: a race has made its second context. The fields are those of Loaded."""

    job: int
    memory_bytes: dict[str, int]
    predicted_bytes: dict[str, int]


class BudgetMeasured(msgspec.Struct, frozen=True, tag=True):
    job: int
    budget: Budget


class Unloaded(msgspec.Struct, frozen=True, tag=True):
    job: int


class DevicesListed(msgspec.Struct, frozen=True, tag=True):
    job: int
    devices: tuple[Device, ...]
    llama_cpp_version: str
    llama_cpp_system_info: str
    drafters: tuple[DrafterCapability, ...] = ()


class MeasureDevicesProgress(msgspec.Struct, frozen=True, tag=True):
    """`fraction` 0 to 1 of all that is measured; `what` is the device that it is about."""

    job: int
    what: str
    fraction: float


class DevicesMeasured(msgspec.Struct, frozen=True, tag=True):
    job: int
    speed: ComputerSpeed


class Started(msgspec.Struct, frozen=True, tag=True):
    """A generation or a race begins. `n_reused` prompt tokens are in the cache already. `seed` is the one used."""

    job: int
    n_prompt_tokens: int
    n_reused: int
    seed: int


class RoundDone(msgspec.Struct, frozen=True, tag=True):
    """One round of one lane."""

    job: int
    lane: int
    round: Round


class LaneFinished(msgspec.Struct, frozen=True, tag=True):
    """No more rounds come for this lane. `tail` is text that was held back for a stop string that never came."""

    job: int
    lane: int
    reason: FinishReason
    tail: str = ""


class FirstDifference(msgspec.Struct, frozen=True):
    """Where two lanes part: `index` counts generated tokens from 0.

    `logit_gap` is the plain lane's logit of its own token minus that of the other lane's token there;
    `relative_gap` is that over the larger absolute value of the two. Both are None where they were not looked
    at: after a cancel.
    """

    index: int
    plain_token: int
    speculative_token: int
    logit_gap: float | None = None
    relative_gap: float | None = None


class Finished(msgspec.Struct, frozen=True, tag=True):
    """A generation or a race has ended; `first_difference` is set only after a race whose lanes part."""

    job: int
    first_difference: FirstDifference | None = None


class Failed(msgspec.Struct, frozen=True, tag=True):
    """A job ended with an error; the fields are those of SlipstreamError."""

    job: int
    kind: str
    sentence: str
    remedy: str = ""
    detail: str = ""


class Pong(msgspec.Struct, frozen=True, tag=True):
    """Answers Ping from the worker's reading thread.

    `pass_s` is how long the current job has shown no progress (no round, no part of a load), 0 if there is none.
    """

    n: int
    pass_s: float


class LogLine(msgspec.Struct, frozen=True, tag=True):
    """A warning or an error from llama.cpp's log."""

    level: str
    text: str


Event = (
    Ready
    | LoadProgress
    | Loaded
    | Unloaded
    | DevicesListed
    | MemoryChanged
    | BudgetMeasured
    | MeasureDevicesProgress
    | DevicesMeasured
    | Started
    | RoundDone
    | LaneFinished
    | Finished
    | Failed
    | Pong
    | LogLine
)
