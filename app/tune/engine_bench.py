"""The engine's own bench, as the Tune page uses it."""

from __future__ import annotations

from app.tune.tools import BenchTools, Measured
from engine.bench.advice import worth_enabling, worth_for
from engine.bench.card import as_json, as_markdown
from engine.bench.driver import Bench
from engine.bench.journal import journal_of
from engine.bench.machine import machine_of
from engine.bench.plan import BenchPlan
from engine.bench.service_bench import ServiceBench
from engine.bench.store import keep_result, latest_result
from engine.bench.tasks import builtin_tasks


def engine_bench() -> BenchTools:
    """Return tools that measure the built-in suite, go on where a bench was broken off, and keep the latest results."""
    return BenchTools(
        tasks=builtin_tasks(),
        make=_make,
        stored=latest_result,
        keep=keep_result,
        advise=worth_enabling,
        advise_for=worth_for,
        markdown=as_markdown,
        json=as_json,
    )


def _make(plan: BenchPlan, measured: Measured) -> Bench:
    machine = machine_of(measured.loaded, measured.llama_cpp, measured.settings)
    journal = journal_of(plan, measured.bundle, machine, measured.settings)
    return ServiceBench(plan, measured.bundle, machine, journal=journal)
