"""A target with a draft model: ours on, ours off and `llama-server --spec-type draft-simple`, in turn, as ratios.

    python -m benchmarks.against_llama_server LLAMA_SERVER TARGET DRAFTER [--draft 3] [--kinds code,json,poem]
                                              [--per-kind 2] [--tokens 128] [--repeat 1] [--threads N]

Build `llama-server` from the llama.cpp inside the llama-cpp-python source distribution. Prompts are sent as raw
ChatML text, so that both sides see the same tokens. Tokens per second are (tokens - 1) over the time after the
first token, on both sides.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

from benchmarks.client import Client
from benchmarks.lossless import drafter, prompts
from benchmarks.report import geometric_mean, machine_line, spread, table
from engine.models.bundle import Bundle
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import LoadSettings, Prompt


@dataclass(frozen=True)
class Sample:
    """Tokens per second of one prompt, three ways, and the accepted share of drafts on both sides."""

    kind: str
    ours_on: float
    ours_off: float
    server_on: float
    our_acceptance: float
    server_acceptance: float


def chatml(text: str) -> str:
    return f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"


@contextlib.contextmanager
def llama_server(arguments: list[str]) -> Iterator[str]:
    """Run llama-server on a free loopback port; yield its address once it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [*arguments, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                urllib.request.urlopen(address + "/health").read()
                break
            time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        process.wait()


def ask(address: str, prompt: str, n_tokens: int) -> tuple[float, float]:
    """Return tokens per second and acceptance of one greedy completion."""
    body = {"prompt": prompt, "n_predict": n_tokens, "temperature": 0, "cache_prompt": False, "seed": 1}
    request = urllib.request.Request(
        address + "/completion", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    timings = json.loads(urllib.request.urlopen(request).read())["timings"]
    tokens_per_s = (timings["predicted_n"] - 1) / (timings["predicted_ms"] / 1000)
    return tokens_per_s, timings.get("draft_n_accepted", 0) / max(timings.get("draft_n", 0), 1)


def measure_prompt(
    client: Client, address: str, kind: str, text: str, settings: GenerationSettings
) -> Sample:
    server_on, server_acceptance = ask(address, chatml(text), settings.max_tokens)
    on = client.generate(Prompt(raw=chatml(text)), settings, speculative=True).metrics
    off = client.generate(Prompt(raw=chatml(text)), settings, speculative=False).metrics
    return Sample(
        kind,
        ours_on=on.tokens_per_s or 0.0,
        ours_off=off.tokens_per_s or 0.0,
        server_on=server_on,
        our_acceptance=on.acceptance_rate or 0.0,
        server_acceptance=server_acceptance,
    )


def summary(samples: list[Sample], kinds: list[str]) -> str:
    rows = []
    for kind in kinds:
        mine = [s for s in samples if s.kind == kind]
        rows.append(
            (
                kind,
                spread([s.ours_on for s in mine]),
                spread([s.ours_off for s in mine]),
                spread([s.server_on for s in mine]),
                spread([s.ours_on / s.ours_off for s in mine]),
                spread([s.ours_on / s.server_on for s in mine]),
                f"{100 * geometric_mean([max(s.our_acceptance, 1e-9) for s in mine]):.0f} %",
                f"{100 * geometric_mean([max(s.server_acceptance, 1e-9) for s in mine]):.0f} %",
            )
        )
    head = (
        "kind",
        "on, tok/s",
        "off, tok/s",
        "llama-server, tok/s",
        "on / off",
        "on / llama-server",
        "accepted",
        "theirs",
    )
    overall = geometric_mean([s.ours_on / s.server_on for s in samples])
    return table(head, rows) + f"\ngeometric mean of on / llama-server: {overall:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("llama_server")
    parser.add_argument("target")
    parser.add_argument("drafter")
    parser.add_argument("--draft", type=int, default=3)
    parser.add_argument("--kinds", default="code,json,poem")
    parser.add_argument("--per-kind", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--threads", type=int, default=psutil.cpu_count(logical=False) or 1)
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    settings = GenerationSettings(max_tokens=options.tokens, draft_length=options.draft)
    server = [
        options.llama_server,
        "-m",
        options.target,
        "-md",
        options.drafter,
        "--spec-type",
        "draft-simple",
    ]
    server += ["--spec-draft-n-max", str(options.draft), "-c", "2048", "-np", "1", "-t", str(options.threads)]
    server += ["-tb", str(options.threads)]
    chosen = [
        (k, t) for kind in kinds for k, t in [p for p in prompts(999) if p[0] == kind][: options.per_kind]
    ]
    samples = []
    with Client() as client, llama_server(server) as address:
        bundle = Bundle("benchmark", options.target, drafter(options.drafter))
        client.load(bundle, LoadSettings(n_ctx=2048, n_threads=options.threads))
        measure_prompt(client, address, "warm-up", "Say hello.", GenerationSettings(max_tokens=16))
        for _ in range(options.repeat):
            for kind, text in chosen:
                samples.append(measure_prompt(client, address, kind, text, settings))
                print(samples[-1], flush=True)
    print(machine_line())
    print(summary(samples, kinds))


if __name__ == "__main__":
    main()
