"""`slipstream bench`: how fast a bundle is here without speculation, with the controller, with fixed draft lengths."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from engine.bench.advice import drafter_memory
from engine.bench.card import as_json, as_markdown
from engine.bench.journal import journal_of
from engine.bench.machine import machine_of
from engine.bench.plan import AUTO, DEFAULT_MODES, OFF, BenchPlan
from engine.bench.results import BenchResult, DrafterMemory
from engine.bench.service_bench import ServiceBench
from engine.bench.store import keep_result
from engine.bench.tasks import BUILTIN, choose_tasks, read_suite
from engine.budget.budget import Budget, BudgetQuestion
from engine.cli.arguments import RunOptions, add_model_options, check_text, load_settings
from engine.cli.bench_table import print_result, progress_text
from engine.cli.bundle_choice import choose_bundle
from engine.cli.client import EngineClient, Interrupted
from engine.cli.devices import ask_devices
from engine.cli.drafter_argument import parse_drafters
from engine.cli.loading import load, note
from engine.cli.models.verb import add_verb
from engine.cli.progress import ProgressLine
from engine.cli.terminal import write_json
from engine.errors import BadOption, SlipstreamError
from engine.models.bundle import Bundle, DrafterKind
from engine.service import EngineService, Service
from engine.shelf.walk import is_encodable
from engine.speculation.settings import (
    MAX_DRAFT_LENGTH,
    GenerationSettings,
    SamplingSettings,
    check_generation,
)
from engine.worker.messages import BudgetMeasured, Loaded

MOST_REPEATS: Final = 100
_EXIT_FAILED: Final = 1
_EXIT_SIGNAL_BASE: Final = 128
_SUMMARY: Final = "measure what speculation gains here, over many kinds of text"


def add_bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `slipstream bench`."""
    parser = add_verb(commands, "bench", _SUMMARY, act)
    parser.add_argument(
        "name",
        metavar="NAME|FILE",
        nargs="?",
        default=None,
        help="a model with its drafter, as --bundle, or a file (default: the starter model)",
    )
    add_model_options(parser)
    what = parser.add_argument_group("what is measured")
    for flag, metavar, default, text in (
        ("--suite", "builtin|FILE.jsonl", BUILTIN, "the tasks (default: builtin)"),
        ("--categories", "A,B", "", "only these kinds of text (default: all of the suite)"),
        ("--modes", "M,M", ",".join(DEFAULT_MODES), "off, auto and draft lengths (default: %(default)s)"),
    ):
        what.add_argument(flag, metavar=metavar, default=default, help=text)
    for flag, number, text in (
        ("--repeat", 1, "how often everything is run (default: 1)"),
        ("--tasks-per-category", 0, "only the first N tasks of each kind (default: all)"),
        ("--max-tokens", 0, "end every answer after N tokens (default: what each task says)"),
    ):
        what.add_argument(flag, type=int, metavar="N", default=number, help=text)
    what.add_argument(
        "--temperature", type=float, metavar="X", default=0.0, help="0 always takes the most likely token"
    )
    what.add_argument("--seed", type=int, metavar="S", default=None, help="for a temperature above 0")
    what.add_argument(
        "--anew", action="store_true", help="do not go on where the same measurement was broken off"
    )
    parser.add_argument("--markdown", metavar="FILE", default="", help="also write a result card")


def act(given: argparse.Namespace) -> int:
    """Measure, print what came out and keep it; an interrupted bench goes on when it is started again."""
    plan = plan_of(given)
    options = _run_options(given, plan)
    bundle = choose_bundle(options)
    if bundle.drafter.kind is DrafterKind.NONE and any(mode != OFF for mode in plan.modes):
        raise BadOption("Without a drafter there is only one mode.", remedy="Take a drafter, or --modes off.")
    measured = _measure(plan, bundle, options, anew=given.anew, verbose=given.verbose)
    result = measured.result
    if not result.runs:
        if measured.interrupted_by:
            raise Interrupted(measured.interrupted_by)
        raise SlipstreamError("Nothing could be measured.", remedy=" ".join(result.left_out))
    is_written = not given.markdown or _write_card(given.markdown, as_markdown(result))
    _keep(measured, bundle, options)
    if given.json:
        write_json(as_json(result))
    else:
        print_result(result, _categories(given))
    if measured.interrupted_by:
        print("slipstream: stopped; the same command goes on from here.", file=sys.stderr)
        return _EXIT_SIGNAL_BASE + measured.interrupted_by
    return 0 if result.is_complete and is_written else _EXIT_FAILED


def plan_of(given: argparse.Namespace) -> BenchPlan:
    """Return what is asked for; raises BadOption, and for a suite that is none what `read_suite` raises."""
    for name, value, lowest, highest in (
        ("--repeat", given.repeat, 1, MOST_REPEATS),
        ("--tasks-per-category", given.tasks_per_category, 0, 1_000_000),
        ("--max-tokens", given.max_tokens, 0, 1_000_000),
    ):
        if not lowest <= value <= highest:
            raise BadOption(f"{name} must be between {lowest} and {highest}.")
    check_text(given, ("suite", "categories", "markdown"))
    if given.markdown and not Path(given.markdown).absolute().parent.is_dir():
        raise BadOption(f"There is no folder for the card “{given.markdown}”.", remedy="Make it first.")
    sampling = SamplingSettings(temperature=given.temperature, seed=given.seed)
    check_generation(GenerationSettings(sampling))
    modes = parse_modes(given.modes)
    tasks = choose_tasks(
        read_suite(given.suite), _categories(given), given.tasks_per_category, given.max_tokens
    )
    return BenchPlan(tasks, modes, given.repeat, sampling)


def _categories(given: argparse.Namespace) -> list[str]:
    """Return the kinds of text that were named, each once."""
    return list(dict.fromkeys(part.strip() for part in given.categories.split(",") if part.strip()))


def parse_modes(text: str) -> tuple[str, ...]:
    """Return the modes in "off,auto,3", each once; raises BadOption."""
    modes = tuple(dict.fromkeys(_mode(part.strip()) for part in text.split(",") if part.strip()))
    if not modes:
        raise BadOption("There is no mode to measure.", remedy="For example: --modes off,auto,3")
    return modes


def _mode(text: str) -> str:
    if text in (OFF, AUTO):
        return text
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= MAX_DRAFT_LENGTH):
        raise BadOption(
            f"“{text}” is no mode: those are off, auto, and draft lengths from 1 to {MAX_DRAFT_LENGTH}."
        )
    return str(int(text))


def _run_options(given: argparse.Namespace, plan: BenchPlan) -> RunOptions:
    check_text(given, ("target", "bundle", "drafter"))
    if given.name and not is_encodable(given.name):
        raise BadOption("The name of the model is not valid UTF-8.")
    if given.name and (given.bundle or given.target):
        raise BadOption("Name one model: as NAME, --bundle or --target.")
    # What is a file, or looks like one, is a target; anything else is a name of `slipstream models list`.
    is_file = bool(given.name) and (given.name.lower().endswith(".gguf") or os.path.isfile(given.name))
    return RunOptions(
        target=given.name if is_file else given.target,
        drafter=parse_drafters(given.drafter),
        prompt=None,
        prompt_file=None,
        system=None,
        raw=False,
        generation=GenerationSettings(plan.sampling),
        load=load_settings(given),
        as_json=given.json,
        verbose=given.verbose,
        bundle=given.bundle if is_file else given.name or given.bundle,
    )


# -------------------------------------------------------------------------------------------------- measuring


@dataclass(frozen=True, slots=True)
class _Measured:
    bench: ServiceBench
    result: BenchResult
    interrupted_by: int


def _measure(plan: BenchPlan, bundle: Bundle, options: RunOptions, *, anew: bool, verbose: bool) -> _Measured:
    with EngineClient(Service()) as client, ProgressLine() as line:
        llama_cpp = ask_devices(client).llama_cpp_version
        budget = _budget(client, bundle, options)
        loaded = load(client, bundle, options)
        machine = machine_of(loaded, llama_cpp, options.load)
        journal = journal_of(plan, bundle, machine, options.load)
        if anew:
            journal.discard()
        bench = ServiceBench(plan, bundle, machine, journal=journal)
        line.note(_size_words(plan))
        _follow(bench, client, line, verbose=verbose)
        memory = _memory(bundle, budget, loaded, options)
        journal.flush()
        result = msgspec.structs.replace(bench.result, memory=memory)
        return _Measured(bench, result, client.interrupted_by)


def _size_words(plan: BenchPlan) -> str:
    """Return "256 answers: 32 tasks in 8 modes."."""
    answers, tasks, modes = (
        f"{n} {what}{'s' * (n != 1)}"
        for n, what in ((plan.n_runs, "answer"), (len(plan.tasks), "task"), (len(plan.modes), "mode"))
    )
    times = f", {plan.repeat} times" if plan.repeat > 1 else ""
    return f"{answers}: {tasks} in {modes}{times}."


def _follow(bench: ServiceBench, client: EngineClient, line: ProgressLine, *, verbose: bool) -> None:
    def start(service: EngineService) -> None:
        bench.start(service)
        if bench.n_resumed:
            line.note(f"{bench.n_resumed} of them were measured before; going on from there.")

    for event in client.drive(start, bench.cancel, lambda: bench.is_done):
        if event is not None:
            bench.take(event)
            note(event, verbose=verbose)
        line.show(progress_text(bench.progress))


def _budget(client: EngineClient, bundle: Bundle, options: RunOptions) -> Budget | None:
    """Return what the bundle takes in memory, asked before it is loaded; None where that cannot be told."""
    if not bundle.drafter.kind.has_weights:
        return None
    load_as = options.load
    question = BudgetQuestion(
        bundle.target, bundle.drafter, kv_types=(load_as.kv_type,), n_gpu_layers=load_as.n_gpu_layers
    )
    try:
        for event in client.run(lambda service: service.budget(question)):
            if isinstance(event, BudgetMeasured):
                return event.budget
    except SlipstreamError:
        return None
    client.raise_if_interrupted()
    return None


def _memory(
    bundle: Bundle, budget: Budget | None, loaded: Loaded, options: RunOptions
) -> DrafterMemory | None:
    if not bundle.drafter.kind.has_weights:
        return DrafterMemory(0)
    return drafter_memory(budget, loaded.n_ctx, options.load.kv_type) if budget is not None else None


def _keep(measured: _Measured, bundle: Bundle, options: RunOptions) -> None:
    """Keep the result; only then is what it was made of not needed any more."""
    result = measured.result
    try:
        keep_result(bundle, result, load=options.load)
    except OSError as error:
        reason = error.strerror or error
        print(f"slipstream: the result could not be kept: {reason}.", file=sys.stderr)
        return
    if result.is_complete:
        measured.bench.forget()


def _write_card(name: str, text: str) -> bool:
    """Write the card; return whether that went well, and say it where it did not."""
    try:
        Path(name).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        print(
            f"slipstream: the card “{name}” could not be written: {getattr(error, 'strerror', None) or error}.",
            file=sys.stderr,
        )
        return False
    return True
