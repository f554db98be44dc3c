"""Render every state of the window to PNG files: python -m tests.app.take_screenshots FOLDER [--only WORD].

Run by hand, under a real or a virtual display, to look at the result. With --bench FILE the Tune page shows what
`slipstream bench --json` printed, in the place of a made-up result.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
from PySide6.QtCore import QElapsedTimer, QEventLoop, QTimer
from PySide6.QtGui import QFont, QFontDatabase
from PySide6.QtWidgets import QApplication

from app.main import open_window
from app.theme import ThemeChoice
from app.window import Window
from engine.bench.results import BenchResult
from engine.models.bundle import NGRAM_DRAFTER, Bundle, DrafterChoice, DrafterKind
from engine.models.capability import DrafterCapability
from engine.models_events import LocalDrafter
from engine.speculation.round import DraftSource
from engine.worker.messages import Failed, Ready
from tests.app.model_scenes import MODEL_SCENES
from tests.app.scripted_bench import BenchScript, result_of
from tests.app.scripted_models import ModelsScript, ScriptedModels
from tests.app.scripted_service import Script, ScriptedService
from tests.app.tune_scenes import TUNE_SCENES

BUNDLES = (
    Bundle("Starter: SmolLM2 135M", "/models/SmolLM2-135M-Instruct-Q4_1.gguf", NGRAM_DRAFTER),
    Bundle("Qwen2.5 Coder 1.5B", "/models/qwen2.5-coder-1.5b-instruct-q8_0.gguf", NGRAM_DRAFTER),
)
PAIR = Bundle(
    "Qwen2.5 Coder 1.5B",
    BUNDLES[1].target,
    DrafterChoice(DrafterKind.MODEL, "/models/qwen2.5-coder-0.5b-instruct-q4_0.gguf", with_ngram=True),
)
CODE = '''Here is a module with the four shapes:

```python
import math


class Square:
    """A shape with four equal sides."""

    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side * self.side

    def perimeter(self):
        return 4 * self.side


class Circle:
    """A round shape."""

    def __init__(self, radius):
        self.radius = radius

    def area(self):
        return math.pi * self.radius ** 2

    def perimeter(self):
        return 2 * math.pi * self.radius
```

Each class has:

1. an `__init__` method that keeps the measures,
2. an **area** method,
3. a **perimeter** method.

> The circle uses `math.pi`.
'''
POEM = """The lamp is lit, the glass is clean,
the sea has turned from blue to slate.
He hears it far before it's seen:
the winter, early, at the gate.

He counts the steps, he bars the door,
he winds the clock and trims the flame,
and every ship that seeks the shore
will find the light, and not his name.
"""


@dataclass(frozen=True)
class Scene:
    name: str
    script: Script
    act: Callable[[Window, ScriptedService], Iterator[int]]
    models: ModelsScript = field(default_factory=ModelsScript)
    bench: BenchScript = field(default_factory=BenchScript)


def wait_ms(milliseconds: int) -> None:
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def until_idle(window: Window, limit_ms: int = 20_000) -> None:
    clock = QElapsedTimer()
    clock.start()
    while clock.elapsed() < limit_ms:
        wait_ms(60)
        if window.compare.run.phase == "idle" and window.chat.run.phase == "idle":
            break
    wait_ms(250)


def compare_empty(window: Window, service: ScriptedService) -> Iterator[int]:
    yield 300


def compare_running(window: Window, service: ScriptedService) -> Iterator[int]:
    window.compare.start()
    yield 2600


def compare_loading(window: Window, service: ScriptedService) -> Iterator[int]:
    window.compare.start()
    yield 1800


def compare_finished(window: Window, service: ScriptedService) -> Iterator[int]:
    window.compare.start()
    until_idle(window)
    yield 100


def compare_auto(window: Window, service: ScriptedService) -> Iterator[int]:
    """A pair whose controller asks now the draft model, now n-gram, now nobody."""
    choose_pair(window)
    yield 100
    yield from compare_finished(window, service)


def tune_pair(window: Window, service: ScriptedService) -> Iterator[int]:
    choose_pair(window)
    window.show_page(3)
    yield 400
    window.tune.start_button.clearFocus()
    yield 50


def choose_pair(window: Window) -> None:
    window.compare.picker._session.choose(PAIR)


def compare_difference(window: Window, service: ScriptedService) -> Iterator[int]:
    yield from compare_finished(window, service)
    for pane in (window.compare.plain, window.compare.speculative):
        pane.view.show_token(41)
    yield 100


def compare_narrow(window: Window, service: ScriptedService) -> Iterator[int]:
    window.resize(700, 900)
    yield from compare_finished(window, service)


def chat_empty(window: Window, service: ScriptedService) -> Iterator[int]:
    window.show_page(0)
    yield 300


def chat_streaming(window: Window, service: ScriptedService) -> Iterator[int]:
    window.show_page(0)
    window.chat.composer.edit.setPlainText("Write a module with classes for a square and a circle.")
    window.chat.send()
    yield 1500


def chat_finished(window: Window, service: ScriptedService) -> Iterator[int]:
    window.show_page(0)
    window.chat.composer.edit.setPlainText("Write a module with classes for a square and a circle.")
    window.chat.send()
    until_idle(window)
    yield 100


def chat_two(window: Window, service: ScriptedService) -> Iterator[int]:
    yield from chat_finished(window, service)
    service.script = replace(service.script, text=POEM)
    window.chat.speculation.setChecked(False)
    window.chat.composer.edit.setPlainText("And now a poem about a lighthouse, please.")
    window.chat.send()
    until_idle(window)
    window.chat.regenerate()
    until_idle(window)
    yield 100


def drafters(window: Window, service: ScriptedService) -> Iterator[int]:
    """The menu of who may guess ahead, one of which this build of llama.cpp cannot run."""
    service.tell(Ready(4242, "0.3.36", (DrafterCapability(DrafterKind.DSPARK, "llama_dspark is missing"),)))
    yield 300
    session = window.compare.picker._session
    assert session.choice is not None
    session.choose(
        msgspec.structs.replace(session.choice, drafter=DrafterChoice(DrafterKind.MTP, with_ngram=True))
    )
    yield 100
    window.compare.picker.drafter.click()
    yield 600


def shortcuts(window: Window, service: ScriptedService) -> Iterator[int]:
    window.show_shortcuts()
    yield 200


FAST = Script(text=CODE, speed=8.0)
HEADS = (
    LocalDrafter(DrafterChoice(DrafterKind.MTP), "MTP head inside the model"),
    LocalDrafter(DrafterChoice(DrafterKind.EAGLE3, "/models/qwen-eagle3.gguf"), "qwen-eagle3", 90_000_000),
    LocalDrafter(DrafterChoice(DrafterKind.MODEL, "/models/qwen-0.5b-q4_0.gguf"), "qwen-0.5b", 400_000_000),
    LocalDrafter(NGRAM_DRAFTER, "n-gram"),
    LocalDrafter(DrafterChoice(DrafterKind.DSPARK, "/models/qwen-dspark.gguf"), "qwen-dspark", 90_000_000),
    LocalDrafter(
        DrafterChoice(DrafterKind.MODEL, "/m/llama.gguf"), "llama", 1, reason="its vocabulary differs"
    ),
)
AUTO = (
    *((DraftSource.DRAFT_MODEL, n) for n in (3, 4, 5, 3, 2)),
    *((DraftSource.NGRAM, n) for n in (6, 8, 7)),
    *((DraftSource.DRAFT_MODEL, n) for n in (4, 2, 1, 0, 0, 2)),
)
NEVER = ((DraftSource.DRAFT_MODEL, 2), *((DraftSource.NONE, 0),) * 9)
SCENES = (
    Scene("compare-empty", FAST, compare_empty),
    Scene("compare-loading", replace(FAST, load_s=30.0, speed=1.0), compare_loading),
    Scene("compare-racing", replace(FAST, speed=1.4), compare_running),
    Scene("compare-finished", FAST, compare_finished),
    Scene("compare-auto", replace(FAST, controller=AUTO, accept=(3, 5, 1, 0, 2, 6, 1)), compare_auto),
    Scene("compare-never", replace(FAST, controller=NEVER, accept=(0, 1)), compare_auto),
    Scene("compare-lost", Script(text=POEM, speed=8, accept=(0, 0, 1), slow_check=1.3), compare_finished),
    Scene("compare-difference", replace(FAST, difference_at=41), compare_difference),
    Scene(
        "compare-error",
        replace(
            FAST,
            load_failure=Failed(
                0,
                "VocabularyMismatch",
                "The drafter does not share the model's vocabulary: 151936 and 49152 tokens.",
                "Choose a drafter of the same family, or let words seen before be guessed.",
                "llama_vocab: token 151700 differs",
            ),
        ),
        compare_finished,
    ),
    Scene("compare-worker-died", replace(FAST, lost_after_rounds=90), compare_finished),
    Scene("compare-silent", replace(FAST, silent_after_rounds=60), compare_running),
    Scene("compare-narrow", FAST, compare_narrow),
    Scene("chat-empty", FAST, chat_empty),
    Scene("chat-streaming", replace(FAST, speed=2.0), chat_streaming),
    Scene("chat-finished", FAST, chat_finished),
    Scene("chat-two", FAST, chat_two),
    Scene("chat-worker-died", replace(FAST, lost_after_rounds=40), chat_finished),
    Scene("drafters", FAST, drafters, ModelsScript(drafters=HEADS)),
    Scene("shortcuts", FAST, shortcuts),
    Scene("tune-pair", FAST, tune_pair, bench=BenchScript(shelf={PAIR.target: result_of(PAIR)})),
    *(Scene(f"tune-{one.name}", one.engine, one.act, bench=one.bench) for one in TUNE_SCENES),
    *(Scene(f"models-{one.name}", FAST, one.act, one.script) for one in MODEL_SCENES),
)


def take(app: QApplication, scene: Scene, theme: ThemeChoice, size: tuple[int, int], folder: Path) -> None:
    """Show one scene in a window of its own and save what it looks like."""
    with tempfile.TemporaryDirectory() as config:
        os.environ["SLIPSTREAM_CONFIG_DIR"] = config
        service = ScriptedService(scene.script)
        models = ScriptedModels(scene.models)
        window = open_window(app, service, lambda _opened: BUNDLES, models, scene.bench.tools())
        window.resize(*size)
        window.choose_theme(theme)
        wait_ms(300)
        for pause in scene.act(window, service):
            wait_ms(pause)
        name = f"{scene.name}-{theme.value}-{size[0]}x{size[1]}.png"
        popup = QApplication.activePopupWidget()
        window.grab().save(str(folder / name))
        if popup is not None:
            popup.grab().save(str(folder / f"popup-{name}"))
            popup.close()
        service.stop(0.2)
        models.stop(0.2)
        window.close()
        window.deleteLater()
        wait_ms(50)
        print(name, flush=True)


def measured_bench(path: Path) -> BenchScript:
    """Return tools whose shelf holds the result in `path` for every model."""
    result = msgspec.json.decode(path.read_bytes(), type=BenchResult)
    shelf = dict.fromkeys((bundle.target for bundle in BUNDLES), result)
    return BenchScript(shelf=shelf)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--theme", choices=("light", "dark", "both"), default="both")
    parser.add_argument("--size", default="1280x800,1000x650")
    parser.add_argument("--bench", type=Path, help="a result of slipstream bench --json")
    options = parser.parse_args()
    bench = measured_bench(options.bench) if options.bench else None
    options.folder.mkdir(parents=True, exist_ok=True)
    app = QApplication(sys.argv[:1])
    app.setQuitOnLastWindowClosed(False)
    if "Inter" in QFontDatabase.families():
        app.setFont(QFont("Inter", 10))
    themes = [t for t in (ThemeChoice.LIGHT, ThemeChoice.DARK) if options.theme in ("both", t.value)]
    sizes = [tuple(int(n) for n in size.split("x")) for size in options.size.split(",")]
    for scene in SCENES:
        if any(word in scene.name for word in options.only.split(",")):
            for theme in themes:
                for size in sizes:
                    shown = replace(scene, bench=bench) if bench and scene.bench.shelf else scene
                    take(app, shown, theme, (size[0], size[1]), options.folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
