"""Tokens beside a busy program: with the number of threads chosen while running, and with a fixed one.

    python -m benchmarks.busy_neighbour MODEL [--tokens 200] [--repeat 3] [--busy 1] [--spins 1000,300]

Prints the median time of a token on a quiet computer, and the 90th percentile beside `--busy` programs that do nothing
but count, as a multiple of it. `--spins` are values of GOMP_SPINCOUNT (engine/llama/environment.py).
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from benchmarks.client import Client, Lane
from benchmarks.report import machine_line, spread, table
from engine.llama.devices import default_threads
from engine.models.bundle import NO_DRAFTER, Bundle
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import LoadSettings, Prompt

STORY = Prompt(raw="Once upon a time there was a village by the sea. Every morning")


def count_for_ever() -> None:
    n = 0
    while True:
        n += 1


@contextmanager
def busy_programs(n: int) -> Iterator[None]:
    programs = [multiprocessing.Process(target=count_for_ever, daemon=True) for _ in range(n)]
    for program in programs:
        program.start()
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.join()


def token_times_s(lane: Lane) -> list[float]:
    rounds = [done for done in lane.rounds if not done.is_prompt_pass]
    return [done.total_s / len(done.tokens) for done in rounds for _ in done.tokens]


def measure(model: str, n_threads: int, n_tokens: int, n_busy: int) -> tuple[float, float, float]:
    """Return the median seconds of a token in quiet, and the median and 90th percentile beside busy programs."""
    settings = GenerationSettings(max_tokens=n_tokens)
    with Client() as client:
        client.load(Bundle("benchmark", model, NO_DRAFTER), LoadSettings(n_ctx=1024, n_threads=n_threads))
        # The first answer finds out how many threads are best; the second one is measured.
        client.generate(STORY, settings, speculative=False)
        quiet = token_times_s(client.generate(STORY, settings, speculative=False))
        with busy_programs(n_busy):
            busy = token_times_s(client.generate(STORY, settings, speculative=False))
    return statistics.median(quiet), statistics.median(busy), float(np.quantile(busy, 0.9))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--busy", type=int, default=1)
    parser.add_argument("--spins", default=os.environ.get("GOMP_SPINCOUNT", "1000"))
    options = parser.parse_args()
    modes = {"chosen while running": 0, f"always {default_threads()}": default_threads(), "always 1": 1}
    cases = [(mode, spins) for mode in modes for spins in options.spins.split(",")]
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {case: [] for case in cases}
    for _ in range(options.repeat):
        for mode, spins in cases:
            # The worker inherits it; GNU's OpenMP reads it when it is loaded.
            os.environ["GOMP_SPINCOUNT"] = spins
            found[mode, spins].append(measure(options.model, modes[mode], options.tokens, options.busy))
    best_quiet_s = min(quiet_s for runs in found.values() for quiet_s, _, _ in runs)
    rows = []
    for (mode, spins), runs in found.items():
        quiet, median, p90 = zip(*runs, strict=True)
        rows.append(
            (
                mode,
                spins,
                spread([1000 * value for value in quiet], 1),
                spread([1000 * value for value in median], 1),
                spread([value / base for value, base in zip(p90, quiet, strict=True)], 2),
                f"{best_quiet_s / statistics.median(quiet):.3f}",
            )
        )
    print(machine_line())
    head = (
        "threads",
        "spins",
        "quiet, ms",
        f"beside {options.busy}, ms",
        "p90 / quiet",
        "best quiet / quiet",
    )
    print(table(head, rows))


if __name__ == "__main__":
    main()
