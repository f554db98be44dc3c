"""Layers on a device that is not the CPU, for real: llama.cpp's RPC back end on loopback.

    LLAMA_CPP_LIB_PATH=FOLDER python -m benchmarks.rpc_offload MODEL [--drafter FILE]

FOLDER holds llama.cpp's shared libraries, built with the RPC back end out of the source distribution of
llama-cpp-python (llama-cpp-python itself stays as it is):

    cmake -S vendor/llama.cpp -B build -DCMAKE_BUILD_TYPE=Release -DGGML_RPC=ON -DLLAMA_BUILD_COMMON=OFF \
      -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_SERVER=OFF
    cmake --build build && mkdir FOLDER && cp -a build/bin/*.so* FOLDER

A second process serves its CPU as if it were a GPU of another computer. Slipstream lists it as RPC0, splits a model's
layers between it and the CPU, and must take on each what its budget said, write what it writes on the CPU alone, and
tell in a sentence when the server is killed in the middle of an answer. The protocol has no passwords: this belongs on
loopback or on a network that is trusted.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import queue
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from benchmarks.client import Client, chat
from benchmarks.report import machine_line, table
from engine.budget.budget import BudgetQuestion, Segment
from engine.llama.rpc import RPC_SERVERS_VARIABLE
from engine.models.bundle import NGRAM_DRAFTER, Bundle, DrafterChoice, DrafterKind
from engine.service import Service, ServiceEvent, WorkerLost
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import Loaded, LoadSettings, RoundDone

N_CTX = 2048
PROMPT = chat("Count from one to twenty in words.")
GREEDY = GenerationSettings(max_tokens=24)
_PATIENCE_S = 120.0

Event = TypeVar("Event", bound=ServiceEvent)


def serve(endpoint: str) -> None:
    """Serve this process's CPU at `endpoint`; does not return."""
    from engine.llama.library import start_llama
    from engine.llama.symbols import find_symbol

    start_llama()
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    by_type = find_symbol("ggml_backend_dev_by_type", pointer, ctypes.c_int)
    by_name = find_symbol("ggml_backend_reg_by_name", pointer, text)
    address_of = find_symbol("ggml_backend_reg_get_proc_address", pointer, pointer, text)
    assert by_type is not None
    assert by_name is not None
    assert address_of is not None
    backend = by_name(b"RPC")
    if not backend:
        sys.exit("This llama.cpp was built without its RPC back end; see the head of this script.")
    address = address_of(backend, b"ggml_backend_rpc_start_server")
    start = ctypes.CFUNCTYPE(None, text, text, size, size, ctypes.POINTER(pointer))(address)
    start(endpoint.encode(), None, 1, 1, (pointer * 1)(by_type(0)))


@contextmanager
def server() -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run a server on a free port of loopback until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        endpoint = f"127.0.0.1:{probe.getsockname()[1]}"
    command = [sys.executable, "-m", "benchmarks.rpc_offload", "--serve", endpoint]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline_s = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", int(endpoint.partition(":")[2])), 1).close()
                break
            except OSError:
                if time.monotonic() > deadline_s or process.poll() is not None:
                    sys.exit("The RPC server did not start.")
                time.sleep(0.1)
        yield process, endpoint
    finally:
        process.kill()
        process.wait()


def split_rows(
    client: Client, bundle: Bundle, layers: tuple[int, ...]
) -> tuple[list[tuple[str, ...]], list[str]]:
    """Load `bundle` with each number of layers on RPC0; return the table's rows and each answer's text."""
    rows, texts = [], []
    for n_gpu_layers in layers:
        settings = LoadSettings(n_ctx=N_CTX, n_threads=1, n_gpu_layers=n_gpu_layers)
        question = BudgetQuestion(bundle.target, bundle.drafter, (N_CTX,), n_gpu_layers=n_gpu_layers)
        said = client.budget(question).contexts[0]
        loaded = client.load(bundle, settings)
        texts.append(client.generate(PROMPT, GREEDY, speculative=True).text)
        for use in said.devices:
            predicted = use.total_bytes - use.segments.get(Segment.VOCABULARY, 0)
            allocated = loaded.memory_bytes.get(use.device, 0)
            rows.append(
                (
                    f"{loaded.target.n_layers_offloaded} of {loaded.target.n_layers}",
                    use.device,
                    *(f"{use.segments.get(s, 0):,}" for s in (Segment.WEIGHTS, Segment.KV, Segment.COMPUTE)),
                    f"{predicted:,}",
                    f"{allocated:,}",
                    f"{allocated - predicted:+,}",
                )
            )
    return rows, texts


def device_goes_away(bundle: Bundle, process: subprocess.Popen[bytes]) -> list[str]:
    """Kill the server in the middle of an answer; return what Slipstream told, in order."""
    told: list[str] = []
    events: queue.SimpleQueue[ServiceEvent] = queue.SimpleQueue()
    service = Service()
    service.start(events.put)
    try:
        job = service.load(bundle, LoadSettings(n_ctx=N_CTX, n_threads=1))
        _wait_for(events, Loaded)
        service.generate(PROMPT, GenerationSettings(max_tokens=400), speculative=True)
        _wait_for(events, RoundDone)
        process.kill()
        lost = _wait_for(events, WorkerLost)
        told += [lost.sentence, lost.remedy]
        again = _wait_for(events, Loaded)
        told.append(f"A new worker loaded the model again, on {' and '.join(again.memory_bytes)}.")
        assert again.job != job
        service.generate(PROMPT, GREEDY, speculative=True)
        _wait_for(events, RoundDone)
        told.append("It answers.")
    finally:
        service.stop()
    return told


def _wait_for(events: queue.SimpleQueue[ServiceEvent], kind: type[Event]) -> Event:
    deadline_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline_s:
        event = events.get(timeout=_PATIENCE_S)
        if isinstance(event, kind):
            return event
    raise TimeoutError(kind.__name__)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--drafter", type=Path, help="a draft model (default: n-gram)")
    parser.add_argument("--layers", default="0,12,20,-1")
    parser.add_argument("--serve", metavar="HOST:PORT", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve)
        return
    if given.model is None or not os.environ.get("LLAMA_CPP_LIB_PATH"):
        parser.error("name a model, and set LLAMA_CPP_LIB_PATH as said above")
    drafter = DrafterChoice(DrafterKind.MODEL, str(given.drafter)) if given.drafter else NGRAM_DRAFTER
    bundle = Bundle(given.model.stem, str(given.model), drafter)
    print(machine_line())
    with server() as (process, endpoint):
        os.environ[RPC_SERVERS_VARIABLE] = endpoint
        with Client() as client:
            for device in client.devices():
                print(f"{device.name} ({device.kind}): {device.description}")
            layers = tuple(int(number) for number in given.layers.split(","))
            rows, texts = split_rows(client, bundle, layers)
        head = ("layers", "device", "weights", "cache", "compute", "predicted", "allocated", "difference")
        print(table(head, rows))
        print("same text with every split:", len(set(texts)) == 1)
        print("\n".join(device_goes_away(bundle, process)))


if __name__ == "__main__":
    main()
