"""Slipstream and `llama-server` with the same files, prompts and threads, in turn: tokens per second and their ratios.

    python -m benchmarks.against_llama_server LLAMA_SERVER TARGET DRAFTER [--modes off,auto,3] [--server-drafts 3,1,6]
        [--categories coding,editing] [--tasks-per-category 1] [--max-tokens 64] [--repeat 1] [--threads N]
        [--context 4096] [--temperature 0] [--keep FILE]

Build `llama-server` from the llama.cpp inside the llama-cpp-python source distribution. The tasks are those of
`slipstream bench`; llama-server renders its chat template once for each, and that text goes to both sides, so that both
see the same tokens. One llama-server runs for each of `--server-drafts` (3 is its default, 0: without a drafter), idle
while it is not asked. Tokens per second are (tokens - 1) over the time after the first token, on both sides. What is
measured is printed as it comes and, with `--keep FILE`, kept as JSON lines beside FILE, under its name with a
fingerprint of files, tasks and options; a second start of exactly the same goes on from there.
Ctrl-C ends with the tables of what there is. About ten minutes on two cores for a target of 1.5 B parameters:
`--tasks-per-category 1 --max-tokens 64 --server-drafts 3,6`.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import shutil
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import psutil

from benchmarks.client import Client
from benchmarks.llama_server import LlamaServer, Timings, running_servers
from benchmarks.report import geometric_mean, machine_line, table
from engine.bench.figures import category_figures, task_speedups
from engine.bench.journal import Journal
from engine.bench.plan import AUTO, OFF, BenchPlan, Task, draft_length_of
from engine.bench.results import BenchRunRecord
from engine.bench.schedule import PlannedRun, schedule, whole_groups
from engine.bench.service_bench import record_of
from engine.bench.tasks import choose_tasks, read_suite
from engine.cli.drafter_argument import parse_drafters, settle_drafter
from engine.models.bundle import NGRAM_DRAFTER, Bundle
from engine.recommend.store import pair_key
from engine.speculation.settings import GenerationSettings, SamplingSettings
from engine.version import slipstream_version
from engine.worker.messages import LoadSettings, Prompt

SERVER: Final = "server "
"""What the mode of a run of llama-server begins with; its draft length follows."""


def main() -> None:
    options = _parser().parse_args()
    modes = (*options.modes.split(","), *(SERVER + n for n in options.server_drafts.split(",")))
    categories = [part for part in options.categories.split(",") if part]
    tasks = choose_tasks(
        read_suite(options.suite), categories, options.tasks_per_category, options.max_tokens
    )
    plan = BenchPlan(tasks, modes, options.repeat, SamplingSettings(temperature=options.temperature, seed=1))
    journal = Journal(kept_at(plan, options)) if options.keep else None
    records = list(whole_groups(schedule(plan), journal.read())) if journal is not None else []
    if journal is not None:
        journal.begin(records)
    with contextlib.suppress(KeyboardInterrupt):
        _measure(plan, options, records, journal)
    print(machine_line())
    print(summary(records, modes))


def kept_at(plan: BenchPlan, options: argparse.Namespace) -> Path:
    """Return the file for what is measured by exactly this plan, with these files, programs and options."""
    server = os.stat(shutil.which(options.llama_server) or options.llama_server)
    how = (
        plan,
        pair_key(_bundle(options)),
        (options.llama_server, server.st_size, server.st_mtime_ns, options.server_options),
        (options.threads, options.context, slipstream_version()),
    )
    path = Path(options.keep)
    return path.with_name(f"{path.stem}-{hashlib.sha256(msgspec.json.encode(how)).hexdigest()[:12]}.jsonl")


def _bundle(options: argparse.Namespace) -> Bundle:
    drafter = settle_drafter(parse_drafters([options.drafter]), options.target, NGRAM_DRAFTER, str)
    return Bundle("benchmark", options.target, drafter)


def _measure(
    plan: BenchPlan, options: argparse.Namespace, records: list[BenchRunRecord], journal: Journal | None
) -> None:
    bundle = _bundle(options)
    n_maxes = {mode: int(mode.removeprefix(SERVER)) for mode in plan.modes if mode.startswith(SERVER)}
    common = ["-m", options.target, "-c", str(options.context), "-t", str(options.threads)]
    common += ["-tb", str(options.threads), "-np", "1", *options.server_options.split()]
    done = {(record.task, record.mode, record.repeat) for record in records}
    with (
        Client() as client,
        running_servers(options.llama_server, common, bundle.drafter, n_maxes) as servers,
    ):
        load = LoadSettings(n_ctx=options.context, n_threads=options.threads)
        client.load(bundle, load)
        prompts = {task.id: next(iter(servers.values())).render(task) for task in plan.tasks}
        for mode in plan.modes:
            _run(PlannedRun(_WARM_UP, mode, 0), _CHATML, plan, client, servers)
        for run in schedule(plan):
            if run.key in done:
                continue
            records.append(_run(run, prompts[run.task.id], plan, client, servers))
            if journal is not None:
                journal.append(records[-1])
            print(f"{run.task.id:28} {run.mode:10} {records[-1].tokens_per_s or 0:6.2f} tok/s", flush=True)


_WARM_UP = Task("warm-up", "", "", max_tokens=24)
_CHATML = "<|im_start|>user\nWrite the numbers from one to forty as words.<|im_end|>\n<|im_start|>assistant\n"


def _run(
    run: PlannedRun, prompt: str, plan: BenchPlan, client: Client, servers: dict[str, LlamaServer]
) -> BenchRunRecord:
    if run.mode in servers:
        return server_record(run, servers[run.mode].complete(prompt, run.task.max_tokens, plan.sampling))
    settings = GenerationSettings(plan.sampling, run.task.max_tokens, draft_length_of(run.mode))
    lane = client.generate(Prompt(raw=prompt), settings, speculative=run.mode != OFF, fresh=True)
    return record_of(run, lane.metrics)


def server_record(run: PlannedRun, timings: Timings) -> BenchRunRecord:
    """Return a record of the server's own figures; it tells the sum of drafts, not each position, nor its rounds."""
    return BenchRunRecord(
        task=run.task.id,
        category=run.task.category,
        mode=run.mode,
        repeat=run.repeat,
        n_prompt=timings.prompt_n,
        n_tokens=timings.predicted_n,
        tokens_per_s=timings.tokens_per_s,
        end_to_end_s=(timings.prompt_ms + timings.predicted_ms) / 1000,
        prefill_s=timings.prompt_ms / 1000,
        rounds=0,
        drafted_by_position=(timings.draft_n,) if timings.draft_n else (),
        accepted_by_position=(timings.draft_n_accepted,) if timings.draft_n else (),
    )


def summary(records: Sequence[BenchRunRecord], modes: Sequence[str]) -> str:
    """Return speeds and acceptance by category and mode, then the ratios that matter with their geometric means."""
    by_name = {(one.category, one.mode): one for one in category_figures(records, modes)}
    categories = list(dict.fromkeys(record.category for record in records))
    speeds = []
    for category in categories:
        found = [by_name.get((category, mode)) for mode in modes]
        speeds.append(
            [
                category,
                *(
                    "—"
                    if one is None or one.tokens_per_s is None
                    else f"{one.tokens_per_s:.2f}"
                    + ("" if one.acceptance_rate is None else f" ({one.acceptance_rate:.0%})")
                    for one in found
                ),
            ]
        )
    head = ["tok/s (accepted)", *modes]
    return f"{table(head, speeds)}\n\n{ratios(records, categories, modes)}"


def ratios(records: Sequence[BenchRunRecord], categories: Sequence[str], modes: Sequence[str]) -> str:
    """Return what "auto" (else our last mode) is times plain, the best fixed length, and llama-server's modes."""
    ours = [mode for mode in modes if not mode.startswith(SERVER)]
    theirs = [mode for mode in modes if mode.startswith(SERVER)]
    mine = AUTO if AUTO in ours else ours[-1]
    fixed = [mode for mode in ours if mode not in (OFF, AUTO)]
    columns = [("off", [OFF]), ("best fixed", fixed), *((mode, [mode]) for mode in theirs)]
    columns += [("best server", theirs)] if len(theirs) > 1 else []
    values = {
        (category, name): _ratio([r for r in records if r.category == category], mine, against)
        for category in categories
        for name, against in columns
    }
    rows = [[category, *(_shown(values[category, name]) for name, _ in columns)] for category in categories]
    means = [[value for c in categories if (value := values[c, name]) is not None] for name, _ in columns]
    rows.append(["geometric mean", *(_shown(geometric_mean(column) if column else None) for column in means)])
    rows.append(["lowest", *(_shown(min(column, default=None)) for column in means)])
    return table([f"{mine} over", *(name for name, _ in columns)], rows)


def _ratio(records: Sequence[BenchRunRecord], mode: str, against: Sequence[str]) -> float | None:
    """Return the geometric mean over tasks of `mode` over that one of `against` which is best for these tasks."""
    found = [list(task_speedups(records, mode, baseline).values()) for baseline in against]
    return min((statistics.geometric_mean(ratios_) for ratios_ in found if ratios_), default=None)


def _shown(value: float | None) -> str:
    return "—" if value is None else f"{value:.3f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("llama_server", "target", "drafter"):
        parser.add_argument(name)
    for flag, default in (
        ("--modes", "off,auto,3"),
        ("--server-drafts", "3,1,6"),
        ("--server-options", ""),
        ("--suite", "builtin"),
        ("--categories", ""),
        ("--keep", ""),
    ):
        parser.add_argument(flag, default=default)
    for flag, number in (
        ("--tasks-per-category", 1),
        ("--max-tokens", 64),
        ("--repeat", 1),
        ("--threads", psutil.cpu_count(logical=False) or 1),
        ("--context", 4096),
    ):
        parser.add_argument(flag, type=int, default=number)
    parser.add_argument("--temperature", type=float, default=0.0)
    return parser


if __name__ == "__main__":
    main()
