"""What is measured: tasks, modes, how often."""

from __future__ import annotations

from typing import Final

import msgspec

from engine.speculation.settings import SamplingSettings

OFF: Final = "off"
AUTO: Final = "auto"
DEFAULT_MODES: Final = (OFF, AUTO, "1", "2", "3", "4", "6", "8")


class Task(msgspec.Struct, frozen=True):
    """One prompt of a suite; `id` is unique in it. `max_tokens` bounds the answer."""

    id: str
    category: str
    prompt: str
    max_tokens: int = 128
    system: str = ""


class BenchPlan(msgspec.Struct, frozen=True):
    """Every task in every mode, `repeat` times; modes alternate within a repeat, so that a drifting computer hits all.

    A mode is "off", "auto" or a draft length as text.
    """

    tasks: tuple[Task, ...]
    modes: tuple[str, ...] = DEFAULT_MODES
    repeat: int = 1
    sampling: SamplingSettings = SamplingSettings()

    @property
    def n_runs(self) -> int:
        return len(self.tasks) * len(self.modes) * self.repeat


def mode_phrase(mode: str) -> str:
    """Return what a sentence calls `mode`: "draft length auto", "draft length 3" or "without guessing ahead"."""
    return "without guessing ahead" if mode == OFF else f"draft length {mode}"


def draft_length_of(mode: str) -> int | None:
    """Return the draft length that `mode` asks for, None for the controller's choice."""
    return {OFF: 0, AUTO: None}[mode] if mode in (OFF, AUTO) else int(mode)
