"""llama-server as a process of ours: started on a free loopback port, asked over HTTP, ended."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from engine.bench.plan import Task
from engine.models.bundle import DrafterChoice, DrafterKind
from engine.speculation.settings import SamplingSettings

T = TypeVar("T")

SPEC_TYPES: Final = {
    DrafterKind.NGRAM: "ngram-simple",
    DrafterKind.MODEL: "draft-simple",
    DrafterKind.MTP: "draft-mtp",
    DrafterKind.EAGLE3: "draft-eagle3",
    DrafterKind.DFLASH: "draft-dflash",
    DrafterKind.DSPARK: "draft-dspark",
}
_START_S: Final = 300.0
_ANSWER_S: Final = 1200.0


class Timings(msgspec.Struct, frozen=True):
    """What llama-server tells about a completion (tools/server/server-task.cpp, result_timings)."""

    prompt_n: int
    prompt_ms: float
    predicted_n: int
    predicted_ms: float
    draft_n: int = 0
    draft_n_accepted: int = 0

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens per second after the first one, as Slipstream counts."""
        if self.predicted_n < 2 or self.predicted_ms <= 0:
            return None
        return (self.predicted_n - 1) / (self.predicted_ms / 1000)


class _Completion(msgspec.Struct):
    timings: Timings


class _Rendered(msgspec.Struct):
    prompt: str


@dataclass(frozen=True, slots=True)
class LlamaServer:
    """A server that answers at `address`."""

    address: str

    def render(self, task: Task) -> str:
        """Return `task` in the model's chat template."""
        messages = [{"role": "system", "content": task.system}] if task.system else []
        messages.append({"role": "user", "content": task.prompt})
        return self._ask("/apply-template", {"messages": messages}, _Rendered).prompt

    def complete(self, prompt: str, n_tokens: int, sampling: SamplingSettings) -> Timings:
        """Answer `prompt` from an empty cache; return the server's own figures."""
        body = {
            "prompt": prompt,
            "n_predict": n_tokens,
            "cache_prompt": False,
            "temperature": sampling.temperature,
            "top_k": sampling.top_k,
            "top_p": sampling.top_p,
            "min_p": sampling.min_p,
            "seed": sampling.seed or 1,
        }
        return self._ask("/completion", body, _Completion).timings

    def _ask(self, path: str, body: object, kind: type[T]) -> T:
        request = urllib.request.Request(
            self.address + path, msgspec.json.encode(body), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=_ANSWER_S) as answer:
            return msgspec.json.decode(answer.read(), type=kind)


@contextlib.contextmanager
def running_servers(
    program: str, common: Sequence[str], drafter: DrafterChoice, n_maxes: Mapping[str, int]
) -> Iterator[dict[str, LlamaServer]]:
    """Run a server for each draft length of `n_maxes`, 0 without a drafter; yield them by the keys of `n_maxes`."""
    with contextlib.ExitStack() as stack:
        yield {
            name: stack.enter_context(_running([program, *common, *_draft_options(drafter, n_max)]))
            for name, n_max in n_maxes.items()
        }


def _draft_options(drafter: DrafterChoice, n_max: int) -> list[str]:
    if n_max == 0:
        return []
    if drafter.kind is DrafterKind.NGRAM:
        return ["--spec-type", SPEC_TYPES[drafter.kind], "--spec-ngram-simple-size-m", str(n_max)]
    files = ["-md", drafter.path] if drafter.path else []
    return [*files, "--spec-type", SPEC_TYPES[drafter.kind], "--spec-draft-n-max", str(n_max)]


@contextlib.contextmanager
def _running(command: Sequence[str]) -> Iterator[LlamaServer]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        server = LlamaServer(f"http://127.0.0.1:{port}")
        _wait_until_ready(server, process)
        yield server
    finally:
        process.terminate()
        process.wait()


def _wait_until_ready(server: LlamaServer, process: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + _START_S
    while time.monotonic() < deadline_s:
        if process.poll() is not None:
            raise RuntimeError(f"llama-server ended with {process.returncode}: {process.args!r}")
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(server.address + "/health", timeout=5).read()
            return
        time.sleep(0.2)
    raise RuntimeError("llama-server does not answer")
