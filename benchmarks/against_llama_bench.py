"""Our plain lane against `llama-bench` tg, in turn, as a ratio.

    python -m benchmarks.against_llama_bench LLAMA_BENCH MODEL... [--tokens 128] [--repeat 5] [--threads N]

Build `llama-bench` from the llama.cpp inside the llama-cpp-python source distribution: the same kernels.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

import psutil

from benchmarks.client import Client
from benchmarks.report import machine_line, spread, table
from engine.models.bundle import NO_DRAFTER, Bundle
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import LoadSettings, Prompt

STORY = Prompt(raw="Once upon a time there was a village by the sea. Every morning")


def llama_bench(binary: str, model: str, n_tokens: int, n_threads: int) -> float:
    """Return tokens per second of one llama-bench run of `n_tokens` from an empty context."""
    arguments = [
        binary,
        "-m",
        model,
        "-t",
        str(n_threads),
        "-p",
        "0",
        "-n",
        str(n_tokens),
        "-r",
        "1",
        "-o",
        "json",
    ]
    result = subprocess.run(arguments, capture_output=True, text=True, check=True)
    return float(json.loads(result.stdout)[0]["avg_ts"])


def plain_lane(model: str, n_tokens: int, n_threads: int) -> float:
    """Return tokens per second of one plain lane in a fresh worker: where the weights lie in memory matters."""
    with Client() as client:
        client.load(Bundle("benchmark", model, NO_DRAFTER), LoadSettings(n_ctx=1024, n_threads=n_threads))
        lane = client.generate(STORY, GenerationSettings(max_tokens=n_tokens), speculative=False)
    return lane.metrics.tokens_per_s or 0.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("llama_bench")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, default=psutil.cpu_count(logical=False) or 1)
    options = parser.parse_args()
    rows = []
    for model in options.models:
        ours, theirs = [], []
        for _ in range(options.repeat):
            theirs.append(llama_bench(options.llama_bench, model, options.tokens, options.threads))
            ours.append(plain_lane(model, options.tokens, options.threads))
        ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
        rows.append((Path(model).name, spread(ours, 1), spread(theirs, 1), spread(ratios, 3)))
    print(machine_line())
    print(table(("model", "our plain lane, tok/s", "llama-bench tg, tok/s", "ours / theirs"), rows))


if __name__ == "__main__":
    main()
