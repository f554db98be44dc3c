"""The states of the Tune page: what take_screenshots renders, and where test_tune_look looks for cut text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from app.window import Window
from engine.models.bundle import NGRAM_DRAFTER, Bundle
from engine.worker.messages import Failed
from tests.app.scripted_bench import BenchScript, result_of
from tests.app.scripted_service import Script

TUNE = 3
STORED = result_of(Bundle("Starter: SmolLM2 135M", "/models/smollm2-135m.gguf", NGRAM_DRAFTER))
QUICK = Script(text="One two three four.", speed=200.0)
MEMORY = Failed(
    0,
    "LoadFailed",
    "This model needs 5.1 GiB of memory, 3.2 GiB are free.",
    "Close other programs, or choose a smaller context.",
)


@dataclass(frozen=True)
class TuneScene:
    name: str
    act: Callable[[Window, object], Iterator[int]]
    engine: Script = QUICK
    bench: BenchScript = field(default_factory=BenchScript)


def empty(window: Window, _service: object) -> Iterator[int]:
    window.show_page(TUNE)
    yield 300


def measuring(window: Window, _service: object) -> Iterator[int]:
    window.show_page(TUNE)
    window.tune.start()
    yield 2500


def measured(window: Window, _service: object) -> Iterator[int]:
    window.show_page(TUNE)
    yield 200
    window.tune.result.table.setCurrentCell(8, 3)
    yield 200


def applied(window: Window, _service: object) -> Iterator[int]:
    yield from measured(window, _service)
    window.tune.result.apply.click()
    window.tune.verticalScrollBar().setValue(10_000)
    yield 200


def refused(window: Window, _service: object) -> Iterator[int]:
    window.show_page(TUNE)
    window.tune.start()
    yield 700


def busy(window: Window, _service: object) -> Iterator[int]:
    window.compare.start()
    yield 400
    window.show_page(TUNE)
    window.tune.start()
    yield 300


def shelf() -> BenchScript:
    names = ("/models/smollm2-135m.gguf", "/models/SmolLM2-135M-Instruct-Q4_1.gguf")
    return BenchScript(shelf=dict.fromkeys(names, STORED))


TUNE_SCENES = (
    TuneScene("empty", empty),
    TuneScene("measuring", measuring, Script(text="One two three four.", speed=12.0)),
    TuneScene("measured", measured, bench=shelf()),
    TuneScene("applied", applied, bench=shelf()),
    TuneScene("refused", refused, Script(load_failure=MEMORY)),
    TuneScene("busy", busy, Script(speed=1.0)),
)
