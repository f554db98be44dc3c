"""What budgets say against what a process really grows by, and how long they take.

    python -m benchmarks.budget_accuracy FILE… [--contexts 2048,8192] [--kv f16,q8_0]

Each line is a process of its own. It asks for a budget of a file that it has not seen (a new file), for another
context of it (a further one), then loads the model, evaluates a whole batch and a single token and looks how much it
grew. Pages of the file that were read on the way but are not needed any more are given back first (madvise), as the
kernel would when memory gets short; what is needed comes back with the batch, and the rows of tokens that it did not
have are read as well. Linux only, for that reason.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import mmap
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import psutil

from benchmarks.report import machine_line, table
from engine.budget.budget import KvType, Segment
from engine.budget.measures import Way
from engine.llama.breakdown import HOST
from engine.llama.context import Context
from engine.llama.context_settings import ContextSettings
from engine.llama.library import start_llama
from engine.llama.measuring import BundleForecast, OpenForecasts
from engine.llama.model import Model
from engine.models.bundle import NO_DRAFTER
from engine.models.gguf_header import read_header

_MIB = 1 << 20


class Line(msgspec.Struct):
    """What one process found."""

    name: str
    n_ctx: int
    kv_type: str
    new_file_s: float
    further_context_s: float
    predicted_bytes: int
    cache_bytes: int
    grown_bytes: int


def examine(path: Path, n_ctx: int, kv_type: KvType) -> Line:
    """Measure one file at one context; runs in a process of its own."""
    library = start_llama()
    embedding = embedding_bytes(path)
    me = psutil.Process()
    before_bytes = me.memory_info().rss
    with OpenForecasts(library) as models:
        began_s = time.perf_counter()
        forecast = BundleForecast(models, path, NO_DRAFTER, 3, 0)
        forecast.use(Way(n_ctx // 2, kv_type, 0))
        new_file_s = time.perf_counter() - began_s
        began_s = time.perf_counter()
        said = forecast.use(Way(n_ctx, kv_type, 0))
        further_context_s = time.perf_counter() - began_s
    with (
        Model.open(library, path, n_gpu_layers=0) as model,
        Context(model, ContextSettings(n_ctx, n_threads=1, kv_type=kv_type)) as context,
    ):
        context.warm_up()
        give_back_pages(path)
        # llama.cpp has written every cell of the cache already; a whole batch needs all of the compute buffer.
        context.extend(range(context.n_batch), 1)
        context.extend([0], 1)
        read_rows(path, embedding)
        grown_bytes = me.memory_info().rss - before_bytes
    return Line(
        path.name,
        n_ctx,
        str(kv_type),
        new_file_s,
        further_context_s,
        sum(n_bytes for segment, n_bytes in said[HOST].items() if segment is not Segment.RACE),
        said[HOST][Segment.KV],
        grown_bytes,
    )


def mappings(path: Path) -> list[tuple[int, int, int]]:
    """Return (first address, last address, offset in the file) of each piece of the file that is mapped here."""
    found = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith(str(path.resolve())):
            addresses, _, offset, *_ = line.split()
            first, last = (int(number, 16) for number in addresses.split("-"))
            found.append((first, last, int(offset, 16)))
    return found


def give_back_pages(path: Path) -> None:
    """Take the mapped pages of the file at `path` out of this process; they come back when they are read."""
    libc = ctypes.CDLL(None, use_errno=True)
    for first, last, _ in mappings(path):
        libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), mmap.MADV_DONTNEED)


def embedding_bytes(path: Path) -> range:
    """Return where in the file the rows of all tokens are."""
    header = read_header(path)
    embedding = next(tensor for tensor in header.tensors if tensor.name == "token_embd.weight")
    start = header.data_offset + embedding.offset
    return range(start, start + (embedding.n_bytes or 0))


def read_rows(path: Path, rows: range) -> None:
    """Touch the rows of all tokens, as a long conversation does bit by bit."""
    for first, last, base in mappings(path):
        for offset in range(max(rows.start, base), min(rows.stop, base + last - first), mmap.PAGESIZE):
            ctypes.string_at(first + offset - base, 1)


def run_one(path: Path, n_ctx: int, kv_type: KvType) -> Line:
    """Return what a process of its own finds; raises CalledProcessError where it fails."""
    command = [sys.executable, "-m", "benchmarks.budget_accuracy", "--one", str(path), str(n_ctx), kv_type]
    done = subprocess.run(command, capture_output=True, check=True)
    return msgspec.json.decode(done.stdout, type=Line)


def row(line: Line) -> tuple[str, ...]:
    off = line.grown_bytes / line.predicted_bytes - 1
    return (
        f"{line.name} {line.kv_type}",
        f"{line.n_ctx}",
        f"{line.new_file_s:.2f}",
        f"{line.further_context_s * 1e3:.0f}",
        f"{line.cache_bytes / _MIB:.0f}",
        f"{line.predicted_bytes / _MIB:.0f}",
        f"{line.grown_bytes / _MIB:.0f}",
        f"{off:+.1%}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--contexts", default="2048,8192")
    parser.add_argument("--kv", default="f16,q8_0")
    parser.add_argument("--one", nargs=3, metavar=("FILE", "N", "TYPE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        path, n_ctx, kv_type = given.one
        print(json.dumps(msgspec.to_builtins(examine(Path(path), int(n_ctx), KvType(kv_type)))))
        return
    print(machine_line())
    head = (
        "model",
        "context",
        "new file, s",
        "further, ms",
        "cache",
        "predicted, MiB",
        "grown, MiB",
        "off by",
    )
    print(table(head, []), flush=True)
    for path in given.files:
        for n_ctx in given.contexts.split(","):
            for kv_type in given.kv.split(","):
                line = run_one(path, int(n_ctx), KvType(kv_type))
                print("| " + " | ".join(row(line)) + " |", flush=True)


if __name__ == "__main__":
    main()
