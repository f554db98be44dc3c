"""What the Tune page has the engine's bench do: handed in, so that a test can script it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.bench.driver import Bench
from engine.bench.plan import BenchPlan, Task
from engine.bench.results import BenchResult
from engine.models.bundle import Bundle
from engine.worker.messages import Loaded, LoadSettings


@dataclass(frozen=True, slots=True)
class Measured:
    """What is loaded, how, and by which engine, when a bench of it begins."""

    bundle: Bundle
    loaded: Loaded
    settings: LoadSettings
    llama_cpp: str


@dataclass(frozen=True, slots=True)
class BenchTools:
    """`stored` and `keep` read and write files and are called beside the window's thread."""

    tasks: tuple[Task, ...]
    make: Callable[[BenchPlan, Measured], Bench]
    stored: Callable[[Bundle], BenchResult | None]
    keep: Callable[[Bundle, BenchResult], None]
    advise: Callable[[BenchResult], str]
    """Whether it is worth enabling."""
    advise_for: Callable[[BenchResult, str], str]
    """Whether it is worth enabling for one kind of text."""
    markdown: Callable[[BenchResult], str]
    json: Callable[[BenchResult], str]
