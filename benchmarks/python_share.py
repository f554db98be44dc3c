"""Python's own share of a round: all of its time that is not spent inside llama.cpp.

    python -m benchmarks.python_share MODEL [--drafter FILE] [--threads 1] [--tokens 200] [--repeat 3] [--profile]

Runs the worker's own code in this process, from the job to the bytes on the pipe, and takes the time in each call of
llama.cpp. With one thread it counts processor time, which other programs do not disturb; llama.cpp's share is largest
then, so the wall's share with more threads is printed by `--threads 2` on a quiet computer. `--profile` lists the
functions that take most of Python's part.
"""

from __future__ import annotations

import argparse
import cProfile
import multiprocessing
import pstats
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from llama_cpp import llama_cpp as api

from benchmarks.client import chat
from benchmarks.report import machine_line, spread, table
from engine.models.bundle import DrafterChoice, DrafterKind
from engine.speculation.settings import GenerationSettings
from engine.worker.activity import Activity
from engine.worker.messages import Event, Generate, LaneFinished, LoadBundle, LoadSettings, RoundDone
from engine.worker.outlet import EventOutlet
from engine.worker.session import open_session

# What rounds call; anything else of llama.cpp counts as Python's, which is the careful side.
_INSIDE = ("llama_decode", "llama_synchronize", "llama_memory_seq_rm")
_STORY = chat("Write a short story about a lighthouse keeper who finds a letter in a bottle.")
_EDIT = chat(
    "Rename x to count and return the whole function:\n\ndef tally(items):\n    x = 0\n    for item in items:\n"
    "        if item is not None:\n            x = x + 1\n    if x > 100:\n        print('many', x)\n    return x\n"
)


class Inside:
    """Adds up the time in llama.cpp's functions while `watch` runs."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.sum_s = 0.0

    @contextmanager
    def watch(self) -> Iterator[None]:
        originals = {name: getattr(api, name) for name in _INSIDE}
        for name, function in originals.items():
            setattr(api, name, self._timed(function))
        try:
            yield
        finally:
            for name, function in originals.items():
                setattr(api, name, function)

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            began_s = self.clock()
            result = function(*arguments)
            self.sum_s += self.clock() - began_s
            return result

        return call


@dataclass
class Moments:
    """When the first and the last round were told of, by both clocks."""

    inside: Inside
    n_rounds: int = 0
    n_tokens: int = 0
    first: tuple[float, float] = (0.0, 0.0)
    last: tuple[float, float] = (0.0, 0.0)

    def see(self, event: Event) -> None:
        now = (self.inside.clock(), self.inside.sum_s)
        if isinstance(event, RoundDone) and event.round.is_prompt_pass:
            self.first = now
        elif isinstance(event, RoundDone):
            self.n_rounds += 1
            self.n_tokens += len(event.round.tokens)
        elif isinstance(event, LaneFinished):
            self.last = now

    @property
    def total_s(self) -> float:
        return self.last[0] - self.first[0]

    @property
    def python_s(self) -> float:
        return self.total_s - (self.last[1] - self.first[1])


def read_all(connection: Connection) -> None:
    while True:
        connection.recv_bytes()


def lanes(drafter: str, n_tokens: int) -> dict[str, tuple[DrafterChoice, Generate]]:
    choice = DrafterChoice(DrafterKind.MODEL, drafter) if drafter else DrafterChoice(DrafterKind.NGRAM)
    name = "draft model" if drafter else "n-gram"

    def generate(draft_length: int | None, *, speculative: bool) -> Generate:
        prompt = _EDIT if speculative and not drafter else _STORY
        settings = GenerationSettings(max_tokens=n_tokens, draft_length=draft_length)
        return Generate(1, prompt, settings, speculative=speculative, fresh=True)

    return {
        "plain": (choice, generate(0, speculative=False)),
        f"{name}, draft 3": (choice, generate(3, speculative=True)),
        f"{name}, auto": (choice, generate(None, speculative=True)),
    }


class Rig:
    """The worker's session in this process, whose events go down a pipe to a process that reads them."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self._moments = Moments(inside)
        reader, writer = multiprocessing.Pipe(duplex=False)
        multiprocessing.get_context("spawn").Process(target=read_all, args=(reader,), daemon=True).start()
        self._outlet = EventOutlet(writer)
        self.session = open_session(self._emit, Activity())

    def measure(self, job: Generate) -> Moments:
        self._moments = Moments(self._inside)
        with self._inside.watch():
            self.session.perform(job)
        return self._moments

    def _emit(self, event: Event) -> None:
        self._outlet.emit(event)
        self._moments.see(event)


def row(name: str, found: Sequence[Moments]) -> tuple[object, ...]:
    return (
        name,
        found[0].n_rounds,
        f"{found[0].n_tokens / found[0].n_rounds:.2f}",
        spread([1000 * each.total_s / each.n_rounds for each in found], 2),
        spread([1e6 * each.python_s / each.n_rounds for each in found], 0),
        spread([100 * each.python_s / each.total_s for each in found], 2),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--drafter", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    rig = Rig(Inside(time.thread_time if options.threads == 1 else time.perf_counter))
    rows = []
    for name, (choice, job) in lanes(options.drafter, options.tokens).items():
        load = LoadSettings(n_ctx=2048, n_threads=options.threads, n_gpu_layers=0)
        rig.session.perform(LoadBundle(0, options.model, choice, load))
        rows.append(row(name, [rig.measure(job) for _ in range(options.repeat)]))
        if options.profile:
            profile = cProfile.Profile()
            profile.runcall(rig.session.perform, job)
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    rig.session.close()
    print(machine_line())
    print(table(("lane", "rounds", "tokens a round", "round, ms", "Python, µs a round", "Python, %"), rows))


if __name__ == "__main__":
    main()
